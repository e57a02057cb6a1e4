/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a hook finishes for others: which leases may be left behind, a row each. */
#include "ops/leftover.h"

#include <unistd.h>

#include "base/text.h"
#include "lib/tap.h"
#include "lib/tree.h"

#define A "c6f1a2b3-0000-4000-8000-00000000000a"

enum { RELEASE_S = 10, CLEANUP_S = 5, TIME_S = RELEASE_S + CLEANUP_S, CREATE_S = 20, GRACE_S = 600 };

static struct store store;
static pid_t writer; /* 0: one that has ended */
static struct policy policy = { .release_timeout_s = RELEASE_S,
				.driver_cleanup_s = CLEANUP_S,
				.create_timeout_s = CREATE_S,
				.start_grace_s = GRACE_S };

static bool any(enum lease_state state, int age_s)
{
	struct lease lease = { .vgpu = { .id = A, .pgpu = "mtty" },
			       .name = "vm",
			       .state = state,
			       .since_ms = sys_now_ms() - (int64_t)age_s * 1000,
			       .writer = writer,
			       .writer_start = writer ? store_own_start(&store) : 0 };
	const struct leases leases = { .list = &lease, .n = 1 };

	return leftover_any(&store, &policy, &leases);
}

int main(void)
{
	static const struct {
		const char *says;
		enum lease_state state;
		int age_s;
		bool left;
	} rows[] = {
		{ "a release that its guest and its driver have had their time for is left", LEASE_RELEASING, 3600,
		  true },
		{ "so is one whose process has ended, before that", LEASE_RELEASING, TIME_S - 5, true },
		{ "so is what a domain has that libvirt has no status of", LEASE_ACTIVE, GRACE_S + 5, true },
		{ "not before start_grace is over", LEASE_ACTIVE, GRACE_S - 5, false },
		{ "so is a creation whose hook has ended", LEASE_CREATING, CREATE_S + 5, true },
		{ "not before create_timeout is over", LEASE_CREATING, CREATE_S - 5, false },
		{ "a reservation never is", LEASE_RESERVED, 3600, false },
	};
	struct err err;
	struct tree tree;
	int lock;

	tree_begin(&tree, "run/\n");
	if (store_open(&store, &tree.host, true, &err) < 0)
		tree_fail(err.text);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		ok(any(rows[i].state, rows[i].age_s) == rows[i].left, "%s", rows[i].says);
	ok(!leftover_any(&store, &policy, &(struct leases){ 0 }), "without leases nothing is");

	writer = getpid();
	ok(!any(LEASE_RELEASING, TIME_S - 5), "one that a process is to finish is that process's");
	ok(any(LEASE_RELEASING, 3600), "but not after its time, should that process hang");
	writer = 0;
	lock = store_lock_removal(&store, A, &err);
	ok(!any(LEASE_RELEASING, 3600), "one whose device is being removed is somebody's");
	store_end_removal(A, lock);
	lock = store_lock_pgpu(&store, "mtty", 1000, &err);
	ok(!any(LEASE_RELEASING, 3600), "so is one whose pGPU is being written to");
	close(lock);
	lock = store_lock_handler(&store, 1000, &err);
	ok(!any(LEASE_RELEASING, 3600), "and while the handler runs it is the handler's");
	close(lock);
	ok(any(LEASE_RELEASING, 3600), "afterwards it is left again");
	policy.start_grace_s = 1;
	ok(!any(LEASE_ACTIVE, 290) && any(LEASE_ACTIVE, 310), "a start_grace of less than five minutes hurries nobody");
	tree_add(&tree, "run/libvirt/qemu/vm.xml = <domstatus/>\n");
	ok(!any(LEASE_ACTIVE, 3600), "what libvirt has a status of is not left");
	store_close(&store);
	tree_end(&tree);
	return tap_done();
}
