/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a pass records of a VF that a domain runs with; what a start keeps of one that its arrival has reserved. */
#include "act/gc.h"

#include "act/lifecycle.h"
#include "lib/asked.h"
#include "lib/live.h"
#include "lib/xml.h"

#define VF "0000:26:00.6"
#define GONE "0000:26:00.7"

static const char runs[] = "run/libvirt/qemu/vm.xml = <domstatus state='running' reason='booted'>" DOMAIN(
	"", VF_XML("26", "6")) "</domstatus>";

static size_t faults;

static void pass_with(const struct config *by, struct libvirt_files *files)
{
	struct leases plugged = { 0 };
	autogc struct gc run = { .world = { .store = &store, .config = by, .looked_ms = sys_now_ms() },
				 .files = files,
				 .seen = &plugged };

	must(gc_judge(&run, &err));
	gc_finish(&run);
	faults = run.nnotes;
	lease_list_free(&plugged);
}

static void pass(void)
{
	pass_with(&config, NULL);
}

static void release_comes(void)
{
	struct lease lease = lease_of(VF, "nvidia-1145", VF, LEASE_RELEASING, VM);

	if (timed_child_is_this())
		return;
	asked.then = NULL;
	text_copy(lease.vgpu.pgpu, sizeof(lease.vgpu.pgpu), "0000:26:00.0");
	put_lease(lease);
}

static bool is_in(enum lease_state state, const char *id)
{
	const struct lease *lease = lease_now(id);

	return lease && lease->state == state;
}

static void passes(void)
{
	struct libvirt_files *files;
	struct config invalid;
	int fd;

	make(VARIANT(VF, "nvidia-1145"));
	fd = hold(VF);
	tree_add(&live.tree, runs);
	asked.host = &live.tree.host;
	asked.then = release_comes;
	pass();
	ok(!asked.then && is_in(LEASE_RELEASING, VF), "a lease that came after the judgement is not replaced");
	ok(faults == 1, "nor is the fault called mended");
	lease_drop(&store, VF, &err);
	asked.reads = asked.locked = 0;
	pass();
	ok(is_in(LEASE_ACTIVE, VF) && !faults, "without one the VF is leased to its domain");
	ok(asked.reads > 0 && asked.locked == 0, "of %d reads of drivers none is under the store's lock", asked.reads);
	lease_drop(&store, VF, &err);
	must(libvirt_files_read(&files, &live.tree.host, &err));
	config_default(&invalid);
	err_set(&invalid.why, ENOENT, "no configuration");
	make(VARIANT(GONE, "nvidia-1145"));
	must(sys_publish(store.seen, GONE, "1 0\n", 4));
	pass_with(&invalid, files);
	libvirt_files_free(files);
	ok(seen_since(&store, GONE, 1, 0, false) > 1,
	   "what a pass cannot judge has no idle time until it is judged again");
	must(kernel_remove(&live.tree.host, VARIANT(GONE, "nvidia-1145"), 60000, &err));
	ok(is_in(LEASE_ACTIVE, VF),
	   "nor does that take a valid configuration: it exists; nor files that the pass itself has read");
	close(fd);
}

/* A vGPU whose lease cannot be written, as where /run is full, and a lease whose domain has gone. */
static void one_fails(void)
{
	struct lease lease = lease_of(GONE, "nvidia-1145", GONE, LEASE_ACTIVE, OTHER);
	int fd = hold(VF);

	lease.vgpu.framework = FW_VARIANT;
	lease_drop(&store, VF, &err);
	put_lease(lease);
	sys_sleep_ms(5);
	if (mkdirat(store.leases, "." VF ".new", 0700) < 0)
		tree_fail("leases");
	pass();
	ok(is_in(LEASE_RELEASING, GONE), "one that cannot be leased keeps no other lease from its end");
	unlinkat(store.leases, "." VF ".new", AT_REMOVEDIR);
	pass();
	ok(is_in(LEASE_ACTIVE, VF), "and is leased once that is possible");
	close(fd);
}

/* Notes in a file if the VF has neither a type nor a lease: then another domain can take its capacity. */
static void look_for_gap(void)
{
	char type[16] = "";
	int fd = openat(live.tree.host.root, "sys/bus/pci/devices/" VF "/nvidia/current_vgpu_type", O_RDONLY);

	if (fd >= 0 && read(fd, type, sizeof(type) - 1) > 0 && atoi(type) == 0 &&
	    faccessat(live.tree.host.root, "run/vgpu-lease/leases/" VF, F_OK, 0) < 0)
		tree_add(&live.tree, "run/gap = \n");
	close(fd);
}

static void reserved(void)
{
	static const char xml[] = DOMAIN("", VF_XML("26", "6"));
	struct lease lease = lease_of(VF, "nvidia-1147", VF, LEASE_RESERVED, VM);
	struct lifecycle lifecycle = { .host = &live.tree.host, .config = &config };
	autodomxml struct domxml *doc = NULL;

	tree_remove(&live.tree, "run/libvirt/qemu/vm.xml");
	lease_drop(&store, VF, &err);
	must(kernel_remove(&live.tree.host, VARIANT(VF, "nvidia-1145"), 60000, &err));
	make(VARIANT(VF, "nvidia-1147"));
	config.policy.reclaim_grace_s = 0;
	lease.vgpu.framework = FW_VARIANT;
	text_copy(lease.vgpu.pgpu, sizeof(lease.vgpu.pgpu), "0000:26:00.0");
	affinity_put(&store, &lease, true, "");
	text_copy(lease.vgpu.type, sizeof(lease.vgpu.type), "nvidia-1145");
	lease.deadline_ms = sys_now_ms() + 60000;
	put_lease(lease);
	must(domxml_parse(&doc, xml, strlen(xml), DOMXML_ALL_PCI, &err));
	lifecycle.doc = doc;
	lifecycle.request = domxml_request(doc);
	err = (struct err){ 0 };
	asked.then = look_for_gap;
	ok_err(lifecycle_prepare(&lifecycle, &err) == 0 && is_in(LEASE_ACTIVE, VF),
	       "it gets the type that it reserved");
	ok(faccessat(live.tree.host.root, "run/gap", F_OK, 0) < 0, "and is leased all the time");
	asked.then = NULL;
}

LIVE_TESTS("l40s/4", "[devices]\nenabled_mdev_types = nvidia-1145\n", passes, one_fails, reserved)
