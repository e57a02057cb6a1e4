/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The finisher: it completes what is marked `releasing`, before it started or since, leaves everything else, and says
 * when a lease has gone. No vGPU exists on this host, so that a release has only the lease to remove.
 */
#include "daemon/finisher.h"

#include <poll.h>

#include "state/lease_store.h"
#include "lib/tap.h"
#include "lib/tree.h"
#include "state/store.h"

#define U(n) "c6f1a2b3-0000-4000-8000-00000000000" #n

enum { LIMIT_MS = 20000 };

static struct tree tree;
static const struct policy policy = { .lock_timeout_s = 10 }; /* no time for a release that takes longer */
static struct err err;

static struct lease put(const char *id, enum lease_state state)
{
	struct lease lease = { .state = state, .origin = LEASE_CREATED, .name = "vm" };
	struct store store;

	snprintf(lease.vgpu.id, sizeof(lease.vgpu.id), "%s", id);
	snprintf(lease.vgpu.type, sizeof(lease.vgpu.type), "nvidia-222");
	snprintf(lease.vgpu.parent, sizeof(lease.vgpu.parent), "0000:84:00.0");
	snprintf(lease.vgpu.pgpu, sizeof(lease.vgpu.pgpu), "0000:84:00.0");
	snprintf(lease.domain, sizeof(lease.domain), "dddddddd-0000-4000-8000-000000000001");
	if (store_open(&store, &tree.host, true, &err) < 0 || store_lock(&store, LIMIT_MS, &err) < 0 ||
	    lease_put(&store, &lease, &err) < 0)
		tree_fail(err.text);
	store_unlock(&store);
	store_close(&store);
	return lease;
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
	struct lease lease = { .since_ms = 1000, .vgpu.id = U(a) }, other = { .since_ms = 1000, .vgpu.id = U(b) };
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

	put(U(a), LEASE_RELEASING);
	put(U(b), LEASE_ACTIVE);
	put(U(c), LEASE_RESERVED);
	if (!ok(finisher_start(&finisher, &tree.host, &policy, &err) == 0, "it starts"))
		return;
	ok(is_completed(finisher, U(a)), "a release from before its start is completed");
	put(U(d), LEASE_RELEASING);
	ok(is_completed(finisher, U(d)), "so is one that is marked while it runs");
	put(U(b), LEASE_RELEASING);
	ok(is_completed(finisher, U(b)), "and a lease that becomes one");
	ok(is_leased(U(c)), "a reservation is not touched");
	finisher_stop(finisher);
	put(U(a), LEASE_RELEASING);
	finisher_stop(NULL);
	ok(is_leased(U(a)), "stopped, it does nothing; stopping none is no error");
}

static void losing(void)
{
	struct finisher *finisher;
	char path[128];

	put(U(a), LEASE_RELEASING);
	put(U(b), LEASE_ACTIVE);
	if (finisher_start(&finisher, &tree.host, &policy, &err) < 0 || !is_told(finisher))
		tree_fail("finisher");
	snprintf(path, sizeof(path), "%s/run/vgpu-lease/leases/" U(b), tree.path);
	unlink(path);
	ok(is_told(finisher), "a lease that somebody removes is told");
	finisher_stop(finisher);
}

int main(void)
{
	tree_begin(&tree, "run/\nvar/lib/\nsys/\nproc/\netc/\n");
	marks();
	finishing();
	losing();
	tree_end(&tree);
	return tap_done();
}
