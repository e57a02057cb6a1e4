/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a pass asks libvirt, on a host of libvirt's test driver; orphans of Nova on a simulated host: which of a pass's
 * findings are removed, and that libvirt is asked first.
 */
#include "handler/handler.h"

#include "lib/live.h"

#define T4 "0000:84:00.0"

#define NAMED(n)                                                                                                       \
	"<domain type='test'><name>" n "</name><uuid>c6f1a2b3-0000-4000-8000-00000000000" n                            \
	"</uuid><memory>1024</memory><os><type>hvm</type></os></domain>"

/* What the pass has found; the last column is what is to come of it. libvirt names 2, 4 and 5. */
static const struct row {
	const char *says, *id;
	bool leased, novas;
	enum { NO_DEVICE, YOUNGER, DEVICE } device;
	enum gc_outcome found, outcome;
} rows[] = {
	{ "an orphan of Nova goes, after its definition", U(1), false, true, DEVICE, GC_GOES, GC_GONE },
	{ "one that a domain names stays", U(2), false, true, DEVICE, GC_GOES, GC_STAYS },
	{ "so does one that is not due", U(3), false, true, DEVICE, GC_STAYS, GC_STAYS },
	{ "one that is not Nova's is only reported", U(4), false, false, DEVICE, GC_GOES, GC_GOES },
	{ "and a lease is none", U(5), true, true, DEVICE, GC_GOES, GC_GOES },
	{ "one without a definition goes, whatever another's answer", U(6), false, true, DEVICE, GC_GOES, GC_GONE },
	{ "a definition without a device goes", U(7), false, true, NO_DEVICE, GC_GOES, GC_GONE },
	{ "not one that has a device by now", U(8), false, true, YOUNGER, GC_GOES, GC_FAILED },
};

enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

/* A host of libvirt's test driver that has domains with the UUIDs of these rows. */
static const char *names_some(void)
{
	static char uri[PATH_MAX + 32];

	tree_add(&live.tree, "run/node.xml = <node>" NAMED("2") NAMED("4") NAMED("5") "</node>");
	snprintf(uri, sizeof(uri), "test://%s/run/node.xml", live.tree.path);
	return uri;
}

static void removed(void)
{
	struct gc_item items[ROWS] = { 0 };
	struct guests guests = { .asks = true, .uri = names_some() };
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
	again_ms = orphans_remove(&guests, &pass);
	ok(guests.virt && guests.connected, "it connects when there is something to ask");
	is(guests.state, "connected to libvirt", "and says so");
	ok(items[1].outcome == GC_STAYS && items[3].outcome == GC_GOES && items[4].outcome == GC_GOES,
	   "a UUID in a domain's XML is named; libvirt is asked of those alone that are due");
	ok(!mdevctl_defines(&live.tree.host, U(1), "") && again_ms && exists(U(1)),
	   "first the definition goes, and another pass is due");
	ok(exists(U(6)) && mdevctl_defines(&live.tree.host, U(7), ""), "all else waits for that, to go in one batch");
	ok(affinity_get(&store, U(1), &was), "should a domain be given it meanwhile, its type is known");
	items[1].outcome = GC_GOES;
	orphans_remove(&guests, &pass);
	for (size_t i = 0; i < ROWS; i++)
		ok(items[i].outcome == rows[i].outcome && exists(rows[i].id) == (rows[i].outcome != GC_GONE), "%s: %s",
		   rows[i].says, items[i].trouble);
	ok(!mdevctl_defines(&live.tree.host, U(7), "") && mdevctl_defines(&live.tree.host, U(8), ""),
	   "as does that without a device, and no other");
	items[1].outcome = GC_GOES;
	guests_hang_up(&guests);
	ok(!guests.virt && guests.connected, "the connection ends with the pass; its state is remembered");
	orphans_remove(&(struct guests){ 0 }, &pass);
	ok(items[1].outcome == GC_GONE && !exists(U(2)), "where libvirt is not asked the pass has the last word");
}

static void silent(void)
{
	struct gc_item items[] = { { .novas = true, .outcome = GC_GOES }, { .novas = true, .outcome = GC_GOES } };
	struct gc pass = { .world = { .store = &store, .config = &config }, .items = items, .n = 2 };
	struct guests guests = { .asks = true, .uri = "test:///nowhere/node.xml" };

	orphans_remove(&guests, &pass);
	ok(items[0].outcome == GC_STAYS && items[1].outcome == GC_STAYS, "without an answer, each may be named");
	ok(!guests.connected && strncmp(guests.state, "not connected", 13) == 0, "%s", guests.state);
	guests.uri = "test:///default";
	ok(!guests_connect(&guests), "a pass tries once");
	guests_hang_up(&guests);
	ok(guests_connect(&guests), "and the next one again");
	guests_hang_up(&guests);
	guests.asks = false;
	ok(!guests_connect(&guests), "a handler of another host never does");
}

static void told(void)
{
	struct guests guests = { .asks = true, .uri = "test:///default", .untold = "a refusal" };
	const struct gc pass = { .world.store = &store };

	guests_tell(&guests, &pass);
	is(guests.untold, "a refusal", "a refusal of libvirt's has not ended while libvirt is not asked");
	guests_connect(&guests);
	guests_tell(&guests, &pass);
	is(guests.untold, "", "with nothing left to write, it has");
	guests_hang_up(&guests);
}

LIVE_TESTS("t4", "[policy]\ndriver_cleanup = 0\n", removed, silent, told)
