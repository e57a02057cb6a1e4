/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a pass judges: which vGPUs it is about, and that a lease which stays can keep all that is beside it. */
#include "ops/gc.h"

#include "base/auto.h"
#include "base/text.h"
#include "lib/tap.h"
#include "lib/tree.h"
#include "state/history.h"

#define A "c6f1a2b3-0000-4000-8000-00000000000a"
#define B "c6f1a2b3-0000-4000-8000-00000000000b"
#define C "c6f1a2b3-0000-4000-8000-00000000000c"
#define D "c6f1a2b3-0000-4000-8000-00000000000d"
#define E "c6f1a2b3-0000-4000-8000-00000000000e"
#define TYPE(id) "sys/devices/mtty/mdev_supported_types/" id "/device_api = vfio-pci\n"
#define DEVICE(id, type)                                                                                               \
	"sys/devices/mtty/" id "/mdev_type -> ../mdev_supported_types/" type "\n"                                      \
	"sys/bus/mdev/devices/" id " -> ../../../devices/mtty/" id "\n"

/* A is being released, C reserved, B and D are orphans, E was not made for a guest; C and D are of the other type. */
static const char host_text[] = "proc/\nrun/\nvar/lib/\nsys/class/mdev_bus/mtty -> ../../devices/mtty\n" TYPE("mtty-1")
	TYPE("mtty-2") DEVICE(A, "mtty-1") DEVICE(B, "mtty-1") DEVICE(D, "mtty-2") DEVICE(E, "mtty-1");

static struct config config;
static struct store store;
static struct err err;

static const struct row {
	const char *says;
	struct gc gc;
	bool configured;
	const char *verdicts; /* of each "LETTER", "-" behind it stays */
} rows[] = {
	{ "what may go goes, and a reservation stays", { 0 }, true, "a c- b d e-" },
	{ "what was not made for a guest goes if that is asked for", { .unused = true }, true, "a c- b d e" },
	{ "without a configuration no orphan does", { 0 }, false, "a c- b- d- e-" },
	{ "a type is that of orphans alone", { .type = "mtty-2" }, true, "a c- d" },
	{ "a type that is kept is not looked at", { .kept_type = "mtty-2" }, true, "a b e-" },
	{ "nor are other pGPUs", { .pgpu = "0000:84:00.0" }, true, "" },
	{ "a lease that stays keeps the rest", { .unless_leased = true }, true, "a- c- b- d- e-" },
	{ "what stays without a lease keeps nothing",
	  { .unless_leased = true, .kept_type = "mtty-2" },
	  false,
	  "a b- e-" },
	{ "nor does a lease that is not looked at", { .unless_leased = true, .kept_type = "mtty-2" }, true, "a b e-" },
};

static void put(const char *id, const char *type, enum lease_state state)
{
	struct lease lease = { .vgpu = { .parent = "mtty", .pgpu = "mtty" },
			       .domain = "67a42c8b-1111-4000-8000-000000000001",
			       .name = "vm",
			       .state = state,
			       .numa = UNKNOWN,
			       .framebuffer_mib = UNKNOWN,
			       .deadline_ms = state == LEASE_RESERVED ? sys_now_ms() + 3600 * 1000 : 0 };

	text_copy(lease.vgpu.id, sizeof(lease.vgpu.id), id);
	text_copy(lease.vgpu.type, sizeof(lease.vgpu.type), type);
	if (store_lock(&store, 1000, &err) < 0 || lease_put(&store, &lease, &err) < 0)
		tree_fail(err.text);
	store_unlock(&store);
}

static void run(const struct row *row)
{
	struct gc gc = row->gc;
	char got[64] = "";

	gc.store = &store;
	gc.policy = &config.policy;
	gc.config = row->configured ? &config : NULL;
	gc.dry = true;
	if (gc_run(&gc, &err) < 0)
		tree_fail(err.text);
	for (size_t i = 0; i < gc.n; i++) {
		snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s%c%s", i ? " " : "",
			 gc.items[i].vgpu.id[UUID_SIZE - 2], gc.items[i].outcome == GC_GOES ? "" : "-");
		if (!*gc.items[i].why)
			ok(false, "%s: a verdict has a reason", row->says);
	}
	is(got, row->verdicts, row->says);
	gc_free(&gc);
}

int main(void)
{
	struct tree tree;

	tree_begin(&tree, host_text);
	config_default(&config);
	config.policy.reclaim_orphans = true;
	config.policy.reclaim_grace_s = 0;
	if (store_open(&store, &tree.host, true, &err) < 0)
		tree_fail(err.text);
	put(A, "mtty-1", LEASE_RELEASING);
	put(C, "mtty-2", LEASE_RESERVED);
	affinity_put(&store, &(struct lease){ .vgpu = { .id = B, .type = "mtty-1", .parent = "mtty" } }, true);
	affinity_put(&store, &(struct lease){ .vgpu = { .id = D, .type = "mtty-2", .parent = "mtty" } }, true);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		run(&rows[i]);
	config_free(&config);
	store_close(&store);
	tree_end(&tree);
	return tap_done();
}
