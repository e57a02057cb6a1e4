/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a pass judges; which of that a command means is in tests/system/cli/gc.sh and retype.sh. What a release would do
 * to the leases of a domain; plans are in tests/system/cli/plan.sh.
 */
#include "ops/gc.h"

#include "lib/cards.h"
#include "lib/small_host.h"
#include "ops/preview.h"
#include "state/history.h"

#define TYPE(id) ON_TYPE("mtty", id) "/device_api = vfio-pci\n"
#define DEVICE(id, type) MDEV_ON("mtty", type, id)

/* A is being released, C reserved, B and D are orphans, E was not made for a guest; C and D are of the other type. */
static const char host_text[] = "proc/\nrun/\nvar/lib/\n" PARENT("mtty") TYPE("mtty-1") TYPE("mtty-2")
	DEVICE(A, "mtty-1") DEVICE(B, "mtty-1") DEVICE(D, "mtty-2") DEVICE(E, "mtty-1");

static struct config config;

static const struct row {
	const char *says;
	struct gc gc;
	bool configured;
	const char *verdicts; /* of each "LETTER", "-" behind it stays */
} rows[] = {
	{ "what may go goes, and a reservation stays", { 0 }, true, "a c- b d e-" },
	{ "what was not made for a guest goes if that is asked for", { .unused = true }, true, "a c- b d e" },
	{ "without a configuration no orphan does", { 0 }, false, "a c- b- d- e-" },
};

static void run(const struct row *row)
{
	autogc struct gc gc = row->gc;
	char got[64] = "";

	gc.store = &store;
	gc.policy = &config.policy;
	gc.config = row->configured ? &config : NULL;
	gc.dry = true;
	must(gc_run(&gc, &err));
	for (size_t i = 0; i < gc.n; i++) {
		snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s%c%s", i ? " " : "",
			 gc.items[i].vgpu.id[UUID_SIZE - 2], gc.items[i].outcome == GC_GOES ? "" : "-");
		if (!*gc.items[i].fate.why)
			ok(false, "%s: a verdict has a reason", row->says);
	}
	is(got, row->verdicts, row->says);
}

static void verdicts(void)
{
	struct lease reserved = lease_of(C, "mtty-2", "mtty", LEASE_RESERVED, VM);

	config_default(&config);
	config.policy.reclaim_orphans = true;
	config.policy.reclaim_grace_s = 0;
	reserved.deadline_ms = sys_now_ms() + 3600 * 1000;
	must(store_lock(&store, 1000, &err));
	put_lease(lease_of(A, "mtty-1", "mtty", LEASE_RELEASING, VM));
	put_lease(reserved);
	store_unlock(&store);
	affinity_put(&store, &(struct lease){ .vgpu = { .id = B, .type = "mtty-1", .parent = "mtty" } }, true);
	affinity_put(&store, &(struct lease){ .vgpu = { .id = D, .type = "mtty-2", .parent = "mtty" } }, true);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		run(&rows[i]);
	config_free(&config);
}

static void releases(void)
{
	static const struct {
		const char *id, *domain;
		enum lease_state state;
		enum lease_origin origin;
	} leases[] = {
		{ A, VM, LEASE_ACTIVE, LEASE_CREATED },    { B, VM, LEASE_ACTIVE, LEASE_ADOPTED },
		{ C, VM, LEASE_RESERVED, LEASE_CREATED },  { D, OTHER, LEASE_ACTIVE, LEASE_CREATED },
		{ U(f), VM, LEASE_ACTIVE, LEASE_CREATED },
	};
	autofree char *text = NULL, *one = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	for (size_t i = 0; i < ARRAY_SIZE(leases); i++) {
		struct lease lease = lease_of(leases[i].id, "t", "p", leases[i].state, leases[i].domain);

		lease.origin = leases[i].origin;
		put_lease(lease);
	}
	ok(preview_release(f, &store, VM, NULL, &err) == 0, "the leases are read");
	fclose(f);
	is(text,
	   "remove " A ", t on p\nkeep the device and drop the lease of " B ", t on p\ndrop the reservation of " C
	   ", t on p\ndrop the lease of " U(f) ", t on p\n",
	   "of the domain's leases, each by its state and origin, and whether its device exists");
	f = open_memstream(&one, &len);
	ok(f && preview_release(f, &store, VM, B, &err) == 0, "of one alone");
	fclose(f);
	is(one, "keep the device and drop the lease of " B ", t on p\n", "that one alone");
}

HOST_TESTS(host_text, verdicts, releases)
