/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The finisher: it completes what is marked `releasing`, before it started or since, leaves everything else, and says
 * when a lease has gone. No vGPU exists on this host, so that a release has only the lease to remove.
 */
#include "daemon/finisher.h"

#include <poll.h>

#include "lib/small_host.h"

#define D "c6f1a2b3-0000-4000-8000-00000000000d"

enum { LIMIT_MS = 20000 };

static const struct policy policy = { .lock_timeout_s = 10 }; /* no time for a release that takes longer */

static void put(const char *id, enum lease_state state)
{
	must(store_lock(&store, LIMIT_MS, &err));
	put_lease(lease_of(id, "nvidia-222", "0000:84:00.0", state, VM));
	store_unlock(&store);
}

static bool is_leased(const char *id)
{
	char path[128];

	snprintf(path, sizeof(path), "run/vgpu-lease/leases/%s", id);
	return faccessat(tree.host.root, path, F_OK, 0) == 0;
}

/* Waits until it says that a lease has gone. */
static bool is_told(const struct finisher *finisher)
{
	struct pollfd fd = { .fd = finisher_lost_fd(finisher), .events = POLLIN };
	uint64_t times;

	return poll(&fd, 1, LIMIT_MS) == 1 && read(fd.fd, &times, sizeof(times)) == sizeof(times);
}

static bool is_completed(const struct finisher *finisher, const char *id)
{
	while (is_leased(id))
		if (!is_told(finisher))
			return false;
	return true;
}

static void marks(void)
{
	struct lease lease = { .since_ms = 1000, .vgpu.id = A }, other = { .since_ms = 1000, .vgpu.id = B };
	struct lease_marks marks = { 0 };

	ok(!lease_marks_have(&marks, &lease), "nothing is marked at first");
	lease_marks_add(&marks, &lease);
	ok(lease_marks_have(&marks, &lease), "a lease is marked");
	ok(!lease_marks_have(&marks, &other), "another vGPU's is not");
	lease.since_ms = 2000;
	ok(!lease_marks_have(&marks, &lease), "nor is the next one of the same vGPU");
	lease_marks_free(&marks);
	ok(marks.n == 0 && !marks.list, "freed, there are none");
}

static void finishing(void)
{
	struct finisher *finisher;

	put(A, LEASE_RELEASING);
	put(B, LEASE_ACTIVE);
	put(C, LEASE_RESERVED);
	if (!ok(finisher_start(&finisher, &tree.host, &policy, &err) == 0, "it starts"))
		return;
	ok(is_completed(finisher, A), "a release from before its start is completed");
	put(D, LEASE_RELEASING);
	ok(is_completed(finisher, D), "so is one that is marked while it runs");
	put(B, LEASE_RELEASING);
	ok(is_completed(finisher, B), "and a lease that becomes one");
	ok(is_leased(C), "a reservation is not touched");
	finisher_stop(finisher);
	put(A, LEASE_RELEASING);
	finisher_stop(NULL);
	ok(is_leased(A), "stopped, it does nothing; stopping none is no error");
}

static void losing(void)
{
	struct finisher *finisher;
	char path[128];

	put(A, LEASE_RELEASING);
	put(B, LEASE_ACTIVE);
	if (finisher_start(&finisher, &tree.host, &policy, &err) < 0 || !is_told(finisher))
		tree_fail("finisher");
	snprintf(path, sizeof(path), "%s/run/vgpu-lease/leases/" B, tree.path);
	unlink(path);
	ok(is_told(finisher), "a lease that somebody removes is told");
	finisher_stop(finisher);
}

HOST_TESTS("run/\nvar/lib/\nsys/\nproc/\netc/\n", marks, finishing, losing)
