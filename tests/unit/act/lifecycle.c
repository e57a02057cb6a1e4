/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Starts and arrivals are decided under the store's lock; but a start waits for the removal of its own vGPU. */
#include "act/lifecycle.h"

#include "lib/asked.h"
#include "lib/cards.h"
#include "lib/leases.h"
#include "lib/xml.h"

#define CARD "0000:84:00.0"
#define TYPE "nvidia-222"
#define T4(card, available, max)                                                                                       \
	CARD_OF(card, "1eb8") OFFERS(card, TYPE, "GRID T4-1B", available) FRAMEBUFFER(card, TYPE, "1024", max)
#define DIRECTORIES "proc/\nrun/\netc/libvirt/qemu/\nsys/bus/mdev/devices/\n"

static struct section section = { .type = TYPE, .max_instances = NO_LIMIT };
static struct config config;

/* What it comes to, of the domain VM with the mdev B; NULL: its metadata ask for no type. */
static int call(const char *type, int (*flow)(const struct lifecycle *lifecycle, struct err *err))
{
	char xml[1024], metadata[256] = "";
	struct lifecycle lifecycle = { .host = &tree.host, .config = &config };
	struct domxml *doc;
	int r;

	if (type)
		snprintf(metadata, sizeof(metadata), LEASE("<v:device uuid='" B "' type='%s'/>"), type);
	snprintf(xml, sizeof(xml), DOMAIN("%s", MDEV_XML(B)), metadata);
	err = (struct err){ 0 };
	must(domxml_parse(&doc, xml, strlen(xml), 0, &err));
	lifecycle.doc = doc;
	lifecycle.request = domxml_request(doc);
	asked.host = &tree.host;
	asked.reads = asked.locked = 0;
	r = flow(&lifecycle, &err);
	domxml_free(doc);
	return r;
}

static void configure(int lock_timeout_s)
{
	config_default(&config);
	config.sections = &section;
	config.nsections = 1;
	config.policy.lock_timeout_s = lock_timeout_s;
}

#define BUS "sys/bus/mdev/devices/"

enum { READS = 5 }; /* that a look at this host takes */

/* Lets go of the work lock after the first look has seen the vGPU and the second that its card is full. */
static void removal_goes_on(void)
{
	if (asked.reads == READS)
		tree_remove(&tree, BUS B);
	if (asked.reads != 2 * READS)
		return;
	tree_add(&tree, AVAILABLE(CARD, TYPE, "1"));
	tree_remove(&tree, "run/vgpu-lease/" STORE_WORK);
}

int __wrap_kernel_create(const struct host *host, const struct vgpu_ref *vgpu, struct err *e)
{
	return err_set(e, ECANCELED, "created on %s", vgpu->parent);
}

static void waits(void)
{
	configure(30);
	put_lease(lease_of(B, TYPE, CARD, LEASE_RELEASING, VM));
	must(store_lock_vgpu(&store, B, &err));
	asked.then = removal_goes_on;
	ok_err(call(TYPE, lifecycle_prepare) == -ECANCELED, "the start comes to the creation");
	is(err.text + err.cause, "created on " CARD, "of a vGPU where it was, not where one was free all the time");
	asked.then = NULL;
	must(lease_drop(&store, B, &err));
	tree_remove(&tree, "sys/class/mdev_bus/0000:85:00.0");
}

static int give(void *arg, const char *xml, size_t len, struct err *e)
{
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

static void starts(void)
{
	const struct lease *lease;
	int work, r;

	configure(60);
	tree_add(&tree, AVAILABLE(CARD, TYPE, "100") FRAMEBUFFER(CARD, TYPE, "1024", "200"));
	ok_err(call(NULL, arrive) == 0, "an arrival gets its vGPU");
	all_under_lock();
	tree_remove(&tree, "run/vgpu-lease/leases/" B);

	tree_add(&tree, AVAILABLE(CARD, TYPE, "0"));
	ok_err(call(NULL, arrive) == -ENOSPC, "without capacity it is refused");
	all_under_lock();

	tree_add(&tree, "sys/kernel/iommu_groups/7/\ndev/vfio/7 = \nsys/class/vfio/7/dev = 511:7\n" ON_CARD(
				CARD) "/" B "/iommu_group -> ../../../kernel/iommu_groups/7\n" MDEV_ON(CARD, TYPE, B));
	ok_err(call(NULL, lifecycle_prepare) == 0, "a start gets its vGPU");
	all_under_lock();
	r = call(NULL, lifecycle_prepare);
	lease = lease_now(B);
	ok(r == 0 && lease && lease->writer == getpid(), "so does the next one");

	work = store_lock_vgpu(&store, B, &err);
	must(work);
	config.policy.lock_timeout_s = 1;
	ok_err(call(NULL, lifecycle_prepare) == -EBUSY && strstr(err.text, B),
	       "a start that libvirtd left alone waits while a later one of its domain is at work");
	store_unlock_vgpu(B, work);
}

HOST_TESTS(DIRECTORIES T4(CARD, "0", "16") T4("0000:85:00.0", "1", "16")
		   ON_CARD(CARD) "/" B "/\n" BUS B " -> ../../../devices/" CARD "/" B "\n",
	   waits, starts)
