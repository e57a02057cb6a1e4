/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The finisher: it completes what is marked `releasing`, before it started or since, leaves everything else, and says
 * when a lease has gone or libvirt has changed a status file. No vGPU exists on this host, so that a release has only
 * the lease to remove.
 */
#include "daemon/finisher.h"

#include <poll.h>

#include "lib/small_host.h"

enum { LIMIT_MS = 20000 };

static const struct policy policy = { .lock_timeout_s = 10 }; /* no time for a release that takes longer */

static void put(const char *id, enum lease_state state)
{
	must(store_lock(&store, LIMIT_MS, &err));
	put_lease(lease_of(id, "nvidia-222", "0000:84:00.0", state, VM));
	store_unlock(&store);
}

/* Runs it as its loop does, for that long; did an event say that a pass is due? */
static bool turns(struct finisher *finisher, int ms)
{
	int64_t end = sys_now_ms() + ms;
	bool news = false;

	while (sys_now_ms() < end && !news) {
		struct pollfd fd = { .fd = finisher->notify, .events = POLLIN };

		if (sys_now_ms() >= finisher->at_ms)
			finisher_run(finisher, &tree.host, &policy);
		fd.fd = finisher->notify;
		if (poll(&fd, 1, 10) > 0)
			news = finisher_events(finisher);
	}
	return news;
}

static bool is_completed(struct finisher *finisher, const char *id)
{
	while (lease_now(id))
		if (!turns(finisher, LIMIT_MS))
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
	struct finisher finisher;

	put(A, LEASE_RELEASING);
	put(B, LEASE_ACTIVE);
	put(C, LEASE_RESERVED);
	finisher_start(&finisher);
	ok(is_completed(&finisher, A), "a release from before its start is completed");
	put(D, LEASE_RELEASING);
	ok(is_completed(&finisher, D), "so is one that is marked while it runs");
	put(B, LEASE_RELEASING);
	ok(is_completed(&finisher, B), "and a lease that becomes one");
	ok(lease_now(C), "a reservation is not touched");
	turns(&finisher, 500);
	ok(finisher.at_ms == INT64_MAX, "with nothing left to do it waits for an event alone");
	finisher_stop(&finisher);
}

/* What others change in files. */
static void news(void)
{
	static const char status[] = "run/libvirt/qemu/vm.xml";
	struct finisher finisher;
	char path[128];

	put(B, LEASE_ACTIVE);
	finisher_start(&finisher);
	ok(!turns(&finisher, 100), "a host on which nothing happens is no news");
	put(A, LEASE_ACTIVE);
	ok(!turns(&finisher, 100), "nor is a lease that appears");
	snprintf(path, sizeof(path), "%s/run/vgpu-lease/leases/" B, tree.path);
	unlink(path);
	ok(turns(&finisher, LIMIT_MS), "a lease that somebody removes is");
	tree_add(&tree, "run/libvirt/qemu/.x = y\n");
	finisher_run(&finisher, &tree.host, &policy);
	must(renameat(tree.host.root, "run/libvirt/qemu/.x", tree.host.root, status));
	ok(turns(&finisher, LIMIT_MS), "so is a domain that starts, or gets a device");
	unlinkat(tree.host.root, status, 0);
	ok(turns(&finisher, LIMIT_MS), "or ends");
	finisher_stop(&finisher);
}

HOST_TESTS("run/\nvar/lib/\nsys/\nproc/\netc/\n", marks, finishing, news)
