/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A start and an arrival are decided under the store's lock: nothing can overtake what they are decided on. */
#include "ops/lifecycle.h"

#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/asked.h"
#include "lib/cards.h"
#include "lib/tap.h"
#include "lib/tree.h"
#include "state/lease_store.h"

#define VM "67a42c8b-1111-4000-8000-000000000001"
#define OTHER "67a42c8b-1111-4000-8000-000000000002"
#define OWN "c6f1a2b3-0000-4000-8000-00000000000b"
#define CARD "0000:84:00.0"
#define TYPE "nvidia-222"

static const char one_card[] = "proc/\nrun/\netc/libvirt/qemu/\n" CARD_OF(CARD, "1eb8")
	OFFERS(CARD, TYPE, "GRID T4-1B", "100") FRAMEBUFFER(CARD, TYPE, "1024", "200");
static const char xml[] = "<domain type='kvm'><name>vm</name><uuid>" VM "</uuid><devices>"
			  "<hostdev mode='subsystem' type='mdev' model='vfio-pci'><source><address uuid='" OWN
			  "'/></source></hostdev></devices></domain>\n";

static struct tree tree;
static struct section section = { .type = "nvidia-222", .max_instances = NO_LIMIT };
static struct config config;

static int call(int (*flow)(const struct lifecycle *lifecycle, struct err *err), struct err *err)
{
	struct lifecycle lifecycle = {
		.host = &tree.host, .config = &config, .policy = &config.policy, .why_no_config = ""
	};
	struct domxml *doc;
	int r;

	*err = (struct err){ 0 };
	if (domxml_parse(&doc, xml, strlen(xml), 0, err) < 0)
		tree_fail(err->text);
	lifecycle.doc = doc;
	lifecycle.request = domxml_request(doc);
	asked.reads = asked.locked = 0;
	r = flow(&lifecycle, err);
	domxml_free(doc);
	return r;
}

static int arrive(const struct lifecycle *lifecycle, struct err *err)
{
	char *changed;
	size_t len;
	int r = lifecycle_migrate(lifecycle, &changed, &len, err);

	free(changed);
	return r;
}

static void all_under_lock(void)
{
	ok(asked.reads > 0 && asked.locked == asked.reads, "each read of a driver is under the store's lock: %d of %d",
	   asked.locked, asked.reads);
}

static pid_t writer(void)
{
	struct lease lease = { 0 };
	struct store store;
	struct err err;

	if (store_open(&store, &tree.host, false, &err) < 0 || lease_get(&store, OWN, &lease, &err) != 1)
		tree_fail("no lease");
	store_close(&store);
	return lease.writer;
}

int main(void)
{
	struct err err = { 0 };
	struct store other;
	int work;

	config_default(&config);
	config.sections = &section;
	config.nsections = 1;
	config.policy.lock_timeout_s = 60;
	tree_begin(&tree, one_card);
	asked.host = &tree.host;
	tree_add(&tree, "sys/bus/mdev/devices/\n");

	ok(call(arrive, &err) == 0, "an arrival gets its vGPU: %s", err.text);
	all_under_lock();
	tree_remove(&tree, "run/vgpu-lease/leases/" OWN);

	tree_add(&tree, AVAILABLE(CARD, TYPE, "0"));
	ok(call(arrive, &err) == -ENOSPC, "without capacity it is refused: %s", err.text);
	all_under_lock();

	tree_add(&tree,
		 "sys/kernel/iommu_groups/7/\ndev/vfio/7 = \nsys/class/vfio/7/dev = 511:7\n" ON_CARD(
			 CARD) "/" OWN "/iommu_group -> ../../../kernel/iommu_groups/7\n" MDEV_ON(CARD, TYPE, OWN));
	ok(call(lifecycle_prepare, &err) == 0, "a start gets its vGPU: %s", err.text);
	all_under_lock();
	ok(call(lifecycle_prepare, &err) == 0 && writer() == getpid(), "so does the next one");

	if (store_open(&other, &tree.host, false, &err) < 0 || (work = store_lock_vgpu(&other, OWN, &err)) < 0)
		tree_fail(err.text);
	config.policy.lock_timeout_s = 1;
	ok(call(lifecycle_prepare, &err) == -EBUSY && strstr(err.text, OWN),
	   "a start that libvirtd left alone waits while a later one of its domain is at work: %s", err.text);
	store_unlock_vgpu(OWN, work);
	store_close(&other);
	tree_end(&tree);
	return tap_done();
}
