/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Orphans of Nova on a simulated host: which of a pass's findings are removed, and that libvirt is asked first. */
#include "handler/handler.h"

#include "look/mdevctl_files.h"
#include "lib/live.h"
#include "state/history.h"

#define T4 "0000:84:00.0"

/* What the pass has found; the last column is what is to come of it, of a device that libvirt names or does not. */
static const struct row {
	const char *says, *id;
	bool leased, novas, named;
	enum { NO_DEVICE, YOUNGER, DEVICE } device;
	enum gc_outcome found, outcome;
} rows[] = {
	{ "an orphan of Nova goes, after its definition", U(1), false, true, false, DEVICE, GC_GOES, GC_GONE },
	{ "one that a domain names stays", U(2), false, true, true, DEVICE, GC_GOES, GC_STAYS },
	{ "so does one that is not due", U(3), false, true, false, DEVICE, GC_STAYS, GC_STAYS },
	{ "one that is not Nova's is only reported", U(4), false, false, false, DEVICE, GC_GOES, GC_GOES },
	{ "and a lease is none", U(5), true, true, false, DEVICE, GC_GOES, GC_GOES },
	{ "one without a definition goes, whatever the answer for another", U(6), false, true, false, DEVICE, GC_GOES,
	  GC_GONE },
	{ "a definition without a device goes", U(7), false, true, false, NO_DEVICE, GC_GOES, GC_GONE },
	{ "not one that has a device by now", U(8), false, true, false, YOUNGER, GC_GOES, GC_FAILED },
};

enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

static size_t asked;

void guests_keep_named(struct guests *guests, struct gc *pass)
{
	(void)guests;
	for (size_t i = 0; i < ROWS; i++) {
		asked += orphan_is_due(&pass->items[i]);
		if (orphan_is_due(&pass->items[i]) && rows[i].named)
			pass->items[i].outcome = GC_STAYS;
	}
}

static void removed(void)
{
	struct gc_item items[ROWS] = { 0 };
	struct guests asked_of = { .asks = true };
	struct affinity was;
	struct gc pass = { .world = { .store = &store, .config = &config }, .items = items, .n = ROWS };
	int64_t again_ms;

	for (size_t i = 0; i < ROWS; i++) {
		items[i].vgpu = *MDEV(T4, "nvidia-222", rows[i].id);
		text_copy(items[i].vgpu.pgpu, sizeof(items[i].vgpu.pgpu), T4);
		items[i].leased = rows[i].leased;
		items[i].novas = rows[i].novas;
		items[i].exists = rows[i].device == DEVICE;
		items[i].outcome = rows[i].found;
		if (rows[i].device != NO_DEVICE)
			make(&items[i].vgpu);
	}
	live_define(T4, "nvidia-222", U(1));
	live_define(T4, "nvidia-222", U(7));
	live_define(T4, "nvidia-222", U(8));
	again_ms = orphans_remove(&pass, &asked_of);
	ok(asked == 5, "libvirt is asked of those alone that are due");
	ok(!mdevctl_defines(&live.tree.host, U(1), "") && again_ms && exists(U(1)),
	   "first the definition goes, and another pass is due");
	ok(exists(U(6)) && mdevctl_defines(&live.tree.host, U(7), ""), "all else waits for that, to go in one batch");
	ok(affinity_get(&store, U(1), &was), "should a domain be given it meanwhile, its type is known");
	items[1].outcome = GC_GOES;
	orphans_remove(&pass, &asked_of);
	for (size_t i = 0; i < ROWS; i++)
		ok(items[i].outcome == rows[i].outcome && exists(rows[i].id) == (rows[i].outcome != GC_GONE), "%s: %s",
		   rows[i].says, items[i].trouble);
	ok(!mdevctl_defines(&live.tree.host, U(7), "") && mdevctl_defines(&live.tree.host, U(8), ""),
	   "as does that without a device, and no other");
	items[1].outcome = GC_GOES;
	orphans_remove(&pass, &(struct guests){ 0 });
	ok(items[1].outcome == GC_GONE && !exists(U(2)), "where libvirt is not asked the pass has the last word");
}

LIVE_TESTS("t4", "[policy]\ndriver_cleanup = 0\n", removed)
