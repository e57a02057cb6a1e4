/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A start and an arrival are decided under the store's lock: nothing can overtake what they are decided on. */
#include <errno.h>
#include <sys/wait.h>

#include "unit/ops/start.h"

static int give(void *arg, const char *xml, size_t len, struct err *e)
{
	(void)arg, (void)xml, (void)len, (void)e;
	return 0;
}

static int arrive(const struct lifecycle *lifecycle, struct err *e)
{
	return lifecycle_arrive(lifecycle, PLAN_MIGRATE, give, NULL, e);
}

static void all_under_lock(void)
{
	ok(asked.reads > 0 && asked.locked == asked.reads, "each read of a driver is under the store's lock: %d of %d",
	   asked.locked, asked.reads);
}

static pid_t writer(void)
{
	struct lease lease;

	return lease_get(&store, B, &lease, &err) == 1 ? lease.writer : 0;
}

static void starts(void)
{
	int work;

	configure(60);
	ok(call(NULL, arrive) == 0, "an arrival gets its vGPU: %s", err.text);
	all_under_lock();
	tree_remove(&tree, "run/vgpu-lease/leases/" B);

	tree_add(&tree, AVAILABLE(CARD, TYPE, "0"));
	ok(call(NULL, arrive) == -ENOSPC, "without capacity it is refused: %s", err.text);
	all_under_lock();

	tree_add(&tree, "sys/kernel/iommu_groups/7/\ndev/vfio/7 = \nsys/class/vfio/7/dev = 511:7\n" ON_CARD(
				CARD) "/" B "/iommu_group -> ../../../kernel/iommu_groups/7\n" MDEV_ON(CARD, TYPE, B));
	ok(call(NULL, lifecycle_prepare) == 0, "a start gets its vGPU: %s", err.text);
	all_under_lock();
	ok(call(NULL, lifecycle_prepare) == 0 && writer() == getpid(), "so does the next one");

	work = store_lock_vgpu(&store, B, &err);
	must(work);
	config.policy.lock_timeout_s = 1;
	ok(call(NULL, lifecycle_prepare) == -EBUSY && strstr(err.text, B),
	   "a start that libvirtd left alone waits while a later one of its domain is at work: %s", err.text);
	store_unlock_vgpu(B, work);
}

HOST_TESTS(DIRECTORIES T4(CARD, "100", "200"), starts)
