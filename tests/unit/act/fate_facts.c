/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which facts the fate of an orphan depends on, as the host has them; the rules are in decide/fate. */
#include "act/fate_facts.h"

#include "lib/leases.h"
#include "lib/vgpu.h"
#include "look/looked.h"
#include "unit/decide/world.h"

static struct config config;
static struct world world;
static const struct request of_vm = { .name = "vm" };
static struct fate_look look = { .world = &world };

static const char *parent = ""; /* of the device */
static int64_t due_ms;
static bool is_free;

static bool is_orphan(const char *id, const char *type, enum framework framework)
{
	struct fate fate;

	fate_orphan(&fate, &look, vgpu_named(framework, id, type, parent), 1, NULL);
	due_ms = fate.due_ms;
	is_free = fate.free;
	printf("# %s\n", fate.why);
	return fate.goes;
}

static void made(const char *id, bool for_guest)
{
	const struct lease lease = { .vgpu = *MDEV("mtty", "mtty-1", id), .origin = LEASE_ADOPTED };

	affinity_put(&store, &lease, for_guest, "");
}

static void used(void)
{
	struct lease lease = lease_of(A, "mtty-1", "mtty", LEASE_RESERVED, VM);
	int64_t since = seen_since(&store, A, 1, 0, false);

	sys_sleep_ms(5);
	ok(lease_put(&store, &lease, &err) == 0 && lease_drop(&store, A, &err) == 0 &&
		   seen_since(&store, A, 1, 0, false) > since,
	   "the end of a lease is a sign of use");
	since = seen_since(&store, A, 1, 0, false);
	sys_sleep_ms(5);
	ok(lease_drop(&store, A, &err) == 0 && seen_since(&store, A, 1, 0, false) == since,
	   "a lease that is not there is none");
	/* The kernel counts its time in steps of some milliseconds. */
	sys_sleep_ms(50);
	tree_add(&tree, "sys/bus/mdev/devices/" A "/mdev_type = x\n");
	config.policy.reclaim_grace_s = 3600;
	is_orphan(A, "mtty-1", FW_MDEV);
	ok(due_ms >= since + 3600 * 1000 + 25, "nor is a device younger than its creation");
	config.policy.reclaim_grace_s = 0;
}

/* What mdevctl starts at boot, on a pGPU of the pool and on another one. */
static void novas(void)
{
	static const struct row host = { .cards = "mtty m=1; t4 s=1", .config = "mtty-2@mtty" };
	static struct setup w;

	make_world(&w, &host);
	world.inv = w.inv;
	config.sections = w.sections;
	config.nsections = 1;
	parent = "mtty";
	ok(!is_orphan(C, "mtty-1", FW_MDEV), "without nova_conf what mdevctl starts at boot stays");
	config.policy.nova = true;
	ok(is_orphan(C, "mtty-1", FW_MDEV), "with it an orphan of Nova may go, also of a type that is not enabled");
	parent = "t4";
	ok(!is_orphan(C, "mtty-1", FW_MDEV), "but not on a pGPU that is not in the pool");
	ok(is_orphan(A, "mtty-1", FW_MDEV), "where what mdevctl does not start goes as ever");
	w.sections[0].naddresses = 0;
	ok(is_orphan(C, "mtty-1", FW_MDEV), "a type without addresses makes all pGPUs Nova's");
	ok(!is_orphan(C, "i915-GVTg_V5_4", FW_MDEV), "but for those of another driver");
	parent = "t5";
	ok(!is_orphan(C, "mtty-1", FW_MDEV), "but for one that is not registered");
	config.sections = NULL;
	config.nsections = 0;
	config.policy.nova = false;
}

/* As an earlier boot recorded them: C, which mdevctl's definition creates again, and A, which others created again. */
static void rebooted(void)
{
	static const char record[] = "mtty-1 mtty - aaaaaaaa-0000-4000-8000-000000000000\n";

	sys_publish(store.affinity, A, record, sizeof(record) - 1);
	sys_publish(store.affinity, C, record, sizeof(record) - 1);
	ok(affinity_is_for_guest(&store, C), "what its definition creates again was made for a guest still");
	ok(!affinity_is_for_guest(&store, A), "what others create again after a reboot is theirs");
	ok(!is_orphan(A, "mtty-1", FW_MDEV) && due_ms == FATE_KEPT, "so it is kept");
	made(A, true);
	made(C, true);
}

/* A definition without a device, which has been idle since the boot, and which a domain's XML names by now. */
static void named_definition(void)
{
	const struct definition definition = { .uuid = B, .parent = "mtty", .type = "mtty-1" };
	struct fate fate;

	must(sys_publish(store.seen, B, "1 1\n", 4));
	fate_orphan(&fate, &look, MDEV("mtty", "mtty-1", B), 1, &definition);
	ok(!fate.goes && !fate.free, "nor does a definition, which is not free if a domain names it");
	ok(seen_since(&store, B, 1, 0, false) > 1, "its idle time starts anew, for when reclaim is changed");
}

static void judged(void)
{
	ok(!is_orphan(A, "", FW_MDEV), "not before the kernel says its type");
	ok(!is_orphan("0000:41:00.2", "nvidia-1", FW_VARIANT), "a VF that a domain's XML names stays");
	world.request = &of_vm;
	ok(is_orphan("0000:41:00.2", "nvidia-1", FW_VARIANT), "but for that domain itself");
	ok(!is_orphan(B, "mtty-1", FW_MDEV), "whose mdev is its own, and stays");
	world.request = NULL;
	config.policy.reclaim_grace_s = 3600;
	ok(!is_orphan(A, "mtty-1", FW_MDEV), "not before reclaim_grace is over");
	ok(seen_since(&store, A, 1, 0, false) >= world.looked_ms, "a look that may write nothing starts no grace");
	look.note = true;
	is_orphan(A, "mtty-1", FW_MDEV);
	sys_sleep_ms(5);
	ok(seen_since(&store, A, 1, 0, false) < sys_now_ms(), "one that may does");
	config.policy.reclaim_grace_s = 0;
	used();
	rebooted();
	novas();
	made(A, false);
	ok(!is_orphan(A, "mtty-1", FW_MDEV) && due_ms == FATE_KEPT, "what was not made for a guest is kept");
	look.unused = true;
	ok(is_orphan(A, "mtty-1", FW_MDEV), "unless that is asked for");
	config.policy.reclaim_orphans = false;
	must(sys_publish(store.seen, A, "1 1\n", 4));
	ok(!is_orphan(A, "mtty-1", FW_MDEV), "with reclaim = never nothing foreign goes");
	ok(seen_since(&store, A, 1, 0, false) > 1, "its idle time starts anew when reclaim is changed");
	named_definition();
	world.wide = true;
	ok(!is_orphan(A, "mtty-1", FW_MDEV) && is_free, "but a look can still tell that nobody uses it");
	ok(!is_orphan(B, "mtty-1", FW_MDEV) && !is_free, "or that a domain's XML names it");
}

static void orphans(void)
{
	for (const char *const *id = (const char *const[]){ A, B, C, "0000:41:00.2", NULL }; *id; id++)
		made(*id, true);
	config.policy.reclaim_orphans = true;
	world = (struct world){ .store = &store, .config = &config, .looked_ms = sys_now_ms() };
	world.users = vfio_users_read(&tree.host, sys_now_ms() + 10000);
	must(libvirt_files_read(&world.disk, &tree.host, &err));
	judged();
	vfio_users_free(world.users);
	libvirt_files_free(world.disk);
}

HOST_TESTS("proc/\nrun/\nvar/lib/\n"
	   "etc/libvirt/qemu/vm.xml = <domain><address uuid='" B "'/>"
	   "<address domain='0x0000' bus='0x41' slot='0x00' function='0x2'/></domain>\n"
	   "etc/mdevctl.d/mtty/" C " = {\"mdev_type\": \"mtty-1\", \"start\": \"auto\"}\n",
	   orphans)
