/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Versions of vgpu-lease meet each other's files: those of files/ are kept as they were written, and are never
 * edited.
 *
 *   lease-1, affinity-1      what version 1 writes
 *   lease-1-instance         the same with the first key that was added
 *   ...-with-more            the same of a later version that has added something: what is known of it counts
 *   lease-2                  of a version that has changed the meaning: nothing is decided beside it, and it stays
 */
#include "base/auto.h"
#include "sys/sys.h"
#include "lib/messages.h"
#include "lib/small_host.h"
#include "state/history.h"

/* Puts a file that was kept where the store has its own. */
static void put(int dir, const char *name)
{
	autofree char *text = source_text("tests/unit/state/files/%s", name);

	if (sys_publish(dir, A, text, strlen(text)) < 0)
		tree_fail(name);
}

static void test_known(const char *name, const char *instance)
{
	struct leases leases;

	put(store.leases, name);
	ok(store_lock(&store, 0, &err) == 0 && lease_list(&store, &leases, &err) == 0 && leases.n == 1 &&
		   leases.garbage == 0,
	   "%s is a lease", name);
	store_unlock(&store);
	if (leases.n != 1)
		return;
	is(leases.list[0].name, "vm\n1", "of its domain");
	is(leases.list[0].instance, instance, "with its name in Nova, if it has one");
	is(leases.list[0].vgpu.type, "nvidia-222", "with its type");
	ok(leases.list[0].state == LEASE_ACTIVE && leases.list[0].origin == LEASE_CREATED, "its state and origin");
	lease_list_free(&leases);
}

static void test_later(void)
{
	struct leases leases = { 0 };
	struct lease lease;

	put(store.leases, "lease-2");
	ok(store_lock(&store, 0, &err) == 0, "under the lock");
	ok(lease_list(&store, &leases, &err) == -EPROTONOSUPPORT, "leases with one of a later version are not listed");
	ok(says(err.text, "M_LATER_LEASE", A), "the error says so: %s", err.text);
	ok(lease_get(&store, A, &lease, &err) == -EPROTONOSUPPORT, "nor is that one read");
	ok(says(err.text, "M_LATER_LEASE", A), "the error says so: %s", err.text);
	store_unlock(&store);
	ok(faccessat(store.leases, A, F_OK, 0) == 0, "it stays where it is");
}

static void test_affinity(const char *name)
{
	struct affinity affinity;

	put(store.affinity, name);
	ok(affinity_get(&store, A, &affinity) == 1, "%s is remembered", name);
	is(affinity.type, "nvidia-222", "with its type");
	is(affinity.parent, "0000:41:00.4", "and where it was");
	ok(!affinity.made_this_boot, "of another boot");
}

static void files(void)
{
	test_known("lease-1", "");
	test_known("lease-1-instance", "web-1");
	test_known("lease-1-with-more", "");
	test_later();
	test_affinity("affinity-1");
	test_affinity("affinity-1-with-more");
}

HOST_TESTS("run/\nvar/lib/\n", files)
