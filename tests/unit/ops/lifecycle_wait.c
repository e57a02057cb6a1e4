/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A start that waits for the removal of its own vGPU, which ends while the host is read. */
#include "ops/lifecycle.h"

#include <errno.h>

#include "lib/asked.h"
#include "lib/cards.h"
#include "lib/tap.h"
#include "lib/tree.h"
#include "state/lease_store.h"

#define VM "67a42c8b-1111-4000-8000-000000000001"
#define OWN "c6f1a2b3-0000-4000-8000-00000000000b"
#define BUS "sys/bus/mdev/devices/"
#define FIRST "0000:84:00.0"
#define SECOND "0000:85:00.0"
#define TYPE "nvidia-222"
#define T4(card, available)                                                                                            \
	CARD_OF(card, "1eb8") OFFERS(card, TYPE, "GRID T4-1B", available) FRAMEBUFFER(card, TYPE, "1024", "16")

static const char two_cards[] = "proc/\nrun/\netc/libvirt/qemu/\n" T4(FIRST, "0") T4(SECOND, "1")
	ON_CARD(FIRST) "/" OWN "/\n" BUS OWN " -> ../../../devices/" FIRST "/" OWN "\n";
static const char xml[] = "<domain type='kvm'><name>vm</name><uuid>" VM "</uuid><metadata>"
			  "<lease xmlns='urn:vgpu-lease:domain:1'><device uuid='" OWN
			  "' type='nvidia-222'/></lease></metadata><devices>"
			  "<hostdev mode='subsystem' type='mdev' model='vfio-pci'><source><address uuid='" OWN
			  "'/></source></hostdev></devices></domain>\n";

static struct tree tree;
static struct section section = { .type = "nvidia-222", .max_instances = NO_LIMIT };
static struct config config;

enum { READS = 5 }; /* that a look at this host takes */

/*
 * After the first look has seen the vGPU, and after the second has read that its card is full: then it lets go of the
 * work lock.
 */
static void removal_goes_on(void)
{
	if (asked.reads == READS)
		tree_remove(&tree, BUS OWN);
	if (asked.reads != 2 * READS)
		return;
	tree_add(&tree, AVAILABLE(FIRST, TYPE, "1"));
	tree_remove(&tree, "run/vgpu-lease/lock");
}

int __wrap_kernel_create(const struct host *host, const struct vgpu_ref *vgpu, struct err *err);
int __wrap_kernel_create(const struct host *host, const struct vgpu_ref *vgpu, struct err *err)
{
	(void)host;
	return err_set(err, ECANCELED, "created on %s", vgpu->parent);
}

int main(void)
{
	struct lease lease = {
		.vgpu = { .id = OWN, .type = "nvidia-222", .parent = "0000:84:00.0", .pgpu = "0000:84:00.0" },
		.domain = VM,
		.name = "vm",
		.state = LEASE_RELEASING,
		.numa = UNKNOWN,
		.framebuffer_mib = UNKNOWN
	};
	struct lifecycle lifecycle = {
		.host = &tree.host, .config = &config, .policy = &config.policy, .why_no_config = ""
	};
	struct domxml *doc;
	struct err err = { 0 };
	struct store store;

	config_default(&config);
	config.sections = &section;
	config.nsections = 1;
	tree_begin(&tree, two_cards);
	if (store_open(&store, &tree.host, true, &err) < 0 || lease_put(&store, &lease, &err) < 0 ||
	    domxml_parse(&doc, xml, strlen(xml), 0, &err) < 0 || store_lock_vgpu(&store, OWN, &err) < 0)
		tree_fail(err.text);
	store_close(&store);
	lifecycle.doc = doc;
	lifecycle.request = domxml_request(doc);
	asked.host = &tree.host;
	asked.then = removal_goes_on;

	ok(lifecycle_prepare(&lifecycle, &err) == -ECANCELED, "the start comes to the creation: %s", err.text);
	is(err.text + err.cause, "created on 0000:84:00.0",
	   "of a vGPU where it was, not where one was free all the time");
	domxml_free(doc);
	tree_end(&tree);
	return tap_done();
}
