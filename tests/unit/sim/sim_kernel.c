/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The simulated kernel without a file system: capacities, errnos, what waits for what. Time is what the test says. */
#include <errno.h>
#include <stdlib.h>
#include <sys/sysmacros.h>

#include "sim/control.h"
#include "sim/kernel.h"
#include "sim/mdev.h"
#include "sim/model.h"
#include "sim/instances.h"
#include "sim/topology.h"
#include "sim/vfio.h"
#include "lib/tap.h"

#define UUID_A "aaaaaaaa-0000-4000-8000-000000000001"
#define UUID_B "bbbbbbbb-0000-4000-8000-000000000002"
#define UUID_C "cccccccc-0000-4000-8000-000000000003"

enum { UNANSWERED = 1000000 };

static struct sim_kernel kernel;

struct answer {
	struct sim_write write;
	ssize_t result;
};

static void on_done(struct sim_write *write, ssize_t result)
{
	((struct answer *)write)->result = result;
}

static struct answer *text_of(struct answer *a, const char *text)
{
	*a = (struct answer){ .write = { .data = text, .len = strlen(text), .done = on_done }, .result = UNANSWERED };
	return a;
}

static struct err err;

static void boot(const char *model)
{
	sim_kernel_init(&kernel, 1000);
	ok(sim_model_parse(&kernel.spec, model, &err) == 0, "%s is a host %s", model, err.text);
	sim_topology_build(&kernel);
	sim_control_build(&kernel);
	sim_tree_settle(&kernel.tree);
}

static const struct sim_type *type_of(const struct sim_parent *parent, const char *id)
{
	const struct sim_item *item = parent->gpu->item;

	for (int i = 0; i < item->ntypes; i++)
		if (strcmp(item->types[i].id, id) == 0)
			return &item->types[i];
	abort();
}

static struct sim_node *node_at(const char *path)
{
	struct sim_node *node = kernel.tree.root;
	char copy[256], *rest = copy, *name;

	snprintf(copy, sizeof(copy), "%s", path);
	while (node && (name = strsep(&rest, "/")))
		node = sim_tree_find(&kernel.tree, node, name);
	return node;
}

static ssize_t create(struct answer *a, const char *parent, const char *type, const char *uuid)
{
	struct sim_parent *p = sim_kernel_parent(&kernel, parent);

	sim_mdev_create(p, type_of(p, type), &text_of(a, uuid)->write);
	return a->result;
}

static ssize_t remove_(struct answer *a, const char *uuid, const char *text)
{
	char path[128];
	struct sim_node *node;

	snprintf(path, sizeof(path), "sys/devices/virtual/mtty/mtty/%s/remove", uuid);
	node = node_at(path);
	if (!node)
		return -ENOENT;
	node->attr->store(node, &text_of(a, text)->write);
	return a->result;
}

static int capacity(const char *parent, const char *type)
{
	struct sim_parent *p = sim_kernel_parent(&kernel, parent);

	return sim_instances_available(p, type_of(p, type));
}

static int control(const char *file, const char *line)
{
	char copy[128];

	snprintf(copy, sizeof(copy), "%s", line);
	return sim_control_line(&kernel, file, copy);
}

static void test_models(void)
{
	static const char *const wrong[] = { "",
					     "t5",
					     "t4:0",
					     "t4:x",
					     "t4:17",
					     "t4/4",
					     "a40/0",
					     "a40/400",
					     "bench/4x41",
					     "t4+t4",
					     "t4+",
					     "gvt-g:2",
					     "a40/4x4",
					     "t4@",
					     "t4@x",
					     "mtty@0000:01:00.0",
					     "t4:4+p4@0000:87:00.0",
					     "t4@0000:84:00.1" };
	static struct sim_spec spec;
	char address[PARENT_SIZE];

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		ok(sim_model_parse(&spec, wrong[i], &err) == -EINVAL, "\"%s\" is refused: %s", wrong[i], err.text);
	ok(sim_model_parse(&spec, "bench/48x30:16+mtty+a40", &err) == 0, "several models are one host");
	ok(spec.nitems == 3 && spec.items[0].cards == 16 && spec.items[0].vfs == 48 && spec.items[0].ntypes == 30,
	   "with the shape that was asked for");
	sim_model_address(address, &spec.items[2], 1, 31);
	is(address, "0000:42:04.3", "VF addresses run over into the next devices");
	sim_model_address(address, &spec.items[1], 0, -1);
	is(address, "mtty", "a virtual device is called by its driver");
	ok(sim_model_parse(&spec, "t4+t4@0001:84:00.0+rtxpro6000:2", &err) == 0, "a model stands at several addresses");
	sim_model_address(address, &spec.items[1], 0, -1);
	is(address, "0001:84:00.0", "as it was told to");
	sim_model_address(address, &spec.items[2], 1, 47);
	is(address, "0001:c9:06.1", "Blackwell's first VF is function 2");
}

static void test_create(void)
{
	struct answer a, b;

	boot("t4+mtty");
	ok(control("create_delay_ms", "1000") == 0, "creating takes a second");
	ok(create(&a, "mtty", "mtty-2", UUID_A) == UNANSWERED, "a creation is under way");
	ok(capacity("mtty", "mtty-2") == 11, "its capacity is taken at once");
	ok(node_at("sys/bus/mdev/devices/" UUID_A) && !node_at("sys/devices/virtual/mtty/mtty/" UUID_A "/mdev_type"),
	   "the device is there, but not yet its type");
	ok(remove_(&b, UUID_A, "1") == -EAGAIN, "it cannot be removed yet");
	ok(create(&b, "0000:84:00.0", "nvidia-222", UUID_A) == -EEXIST, "its UUID is taken on the whole host");
	ok(sim_kernel_deadline(&kernel) == 2000, "something is due in a second");
	sim_kernel_advance(&kernel, 1999);
	ok(a.result == UNANSWERED, "not before");
	sim_kernel_advance(&kernel, 2000);
	ok(a.result == 36, "then the write is answered");
	ok(node_at("sys/devices/virtual/mtty/mtty/" UUID_A "/mdev_type") &&
		   node_at("sys/devices/virtual/mtty/mtty/mdev_supported_types/mtty-2/devices/" UUID_A),
	   "type and device are linked");
	is(node_at("sys/bus/mdev/devices/" UUID_A)->target, "../../../devices/virtual/mtty/mtty/" UUID_A,
	   "links are relative, as the kernel's are");
	ok(sim_kernel_deadline(&kernel) == -1, "nothing more is due");
	sim_kernel_free(&kernel);
}

static void test_remove(void)
{
	struct answer a, b;
	struct sim_handle *handle, *other;

	boot("mtty");
	create(&a, "mtty", "mtty-1", UUID_A "\n");
	ok(a.result == 37, "a newline behind the UUID is taken");
	ok(remove_(&a, UUID_A, "0\n") == 2 && node_at("sys/bus/mdev/devices/" UUID_A), "0 does nothing");
	ok(remove_(&a, UUID_A, "x") == -EINVAL && remove_(&a, UUID_A, " 1") == -EINVAL &&
		   remove_(&a, UUID_A, "1x") == -EINVAL && remove_(&a, UUID_A, "-1") == -EINVAL,
	   "what is no number is EINVAL");
	ok(sim_vfio_open(&kernel, node_at("dev/vfio/0"), 42, "qemu", 7, &handle) == 0, "the group is opened");
	ok(sim_vfio_open(&kernel, node_at("dev/vfio/0"), 43, "other", 7, &other) == -EBUSY, "by one process only");
	is(node_at("proc/42/fd/10")->target, "../../../dev/char/511:0", "proc shows it");
	ok(node_at("dev/char/511:0")->rdev == makedev(511, 0), "as a device of this number");
	ok(node_at("sys/devices/virtual/vfio/0/dev"), "which sysfs has, too");
	ok(remove_(&a, UUID_A, "0x1\n") == UNANSWERED, "the removal waits");
	ok(!node_at("sys/bus/mdev/devices/" UUID_A) && !node_at("sys/devices/virtual/mtty/mtty/" UUID_A "/remove") &&
		   node_at("sys/devices/virtual/mtty/mtty/" UUID_A "/iommu_group"),
	   "the links are gone, iommu_group is left");
	ok(capacity("mtty", "mtty-1") == 23, "the capacity is still taken");
	ok(create(&b, "mtty", "mtty-1", UUID_A) == -EEXIST, "the UUID as well");
	sim_vfio_close(handle);
	ok(a.result == 4, "when it is closed the write is answered");
	ok(capacity("mtty", "mtty-1") == 24 && !node_at("sys/devices/virtual/mtty/mtty/" UUID_A) &&
		   !node_at("dev/vfio/0") && !node_at("proc/42"),
	   "and all of it is gone");
	sim_kernel_free(&kernel);
}

static void test_rooms(void)
{
	struct answer a;

	boot("a40/6+mdpy+gvt-g");
	ok(capacity("0000:41:00.4", "nvidia-563") == 1, "a VF has capacity for one");
	ok(create(&a, "0000:41:00.4", "nvidia-563", UUID_A) == 36, "it takes one");
	ok(create(&a, "0000:41:00.4", "nvidia-563", UUID_B) == -EIO, "and no second");
	ok(capacity("0000:41:00.5", "nvidia-563") == 1 && capacity("0000:41:00.5", "nvidia-573") == 1 &&
		   capacity("0000:41:00.5", "nvidia-557") == 0,
	   "on the card's other VFs only its framebuffer size fits");
	ok(create(&a, "0000:41:00.5", "nvidia-557", UUID_B) == -EIO, "NVIDIA refuses with EIO");
	ok(create(&a, "mdpy", "mdpy-hd", UUID_B) == 36 && capacity("mdpy", "mdpy-vga") == 3,
	   "mdpy's types share four places");
	ok(create(&a, "0000:00:02.0", "i915-GVTg_V5_1", UUID_C) == 36, "GVT-g's share an aperture");
	ok(capacity("0000:00:02.0", "i915-GVTg_V5_1") == 0 && capacity("0000:00:02.0", "i915-GVTg_V5_8") == 1,
	   "which gets smaller");
	sim_kernel_free(&kernel);
}

static ssize_t set_type(struct answer *a, const char *vf, const char *text)
{
	char path[128];
	struct sim_node *node;

	snprintf(path, sizeof(path), "sys/devices/pci%.7s/%s/nvidia/current_vgpu_type", vf, vf);
	node = node_at(path);
	node->attr->store(node, &text_of(a, text)->write);
	return a->result;
}

#define VF_A "0000:26:00.4"
#define VF_B "0000:26:00.5"

static void test_variant(void)
{
	struct sim_handle *handle;
	struct answer a, b;

	boot("l40s/4+flex/2");
	ok(set_type(&a, VF_A, "0\n") == -EPERM && set_type(&a, VF_A, "one") == -EINVAL &&
		   set_type(&a, VF_A, "4711") == -EIO,
	   "a VF without a type takes a known one only");
	ok(sim_vfio_open(&kernel, node_at("dev/vfio/0"), 42, "qemu", 7, &handle) == -ENODEV, "it cannot be opened yet");
	control("create_delay_ms", "1000");
	ok(set_type(&a, VF_A, "1147\n") == UNANSWERED && set_type(&b, VF_A, "1147") == -EPERM &&
		   set_type(&b, VF_A, "0") == -EPERM && set_type(&b, VF_B, "1148") == -EIO,
	   "while it gets one it is taken, and so is its capacity");
	sim_kernel_advance(&kernel, 2000);
	ok(a.result == 5 && sim_vfio_open(&kernel, node_at("dev/vfio/0"), 42, "qemu", 7, &handle) == 0,
	   "then it can be opened");
	control("plugin_delay_ms", "8000");
	ok(set_type(&a, VF_A, "0") == -EPERM, "but not cleared");
	sim_vfio_close(handle);
	ok(set_type(&a, VF_A, "0") == UNANSWERED, "closed, it waits for vgpu-mgr");
	sim_kernel_advance(&kernel, 7000);
	ok(a.result == -EBUSY && set_type(&a, VF_A, "0") == UNANSWERED, "five seconds at a time");
	sim_kernel_advance(&kernel, 10000);
	ok(a.result == 1 && capacity(VF_B, "nvidia-1148") == 1, "until it has let go: then the capacity is back");
	ok(control("register", VF_A " off") == 0 && !node_at("sys/devices/pci0000:26/" VF_A "/nvidia"),
	   "the driver's files can go");
	ok(control("vfs", "0000:26:00.0 off") == 0 && control("vfs", "0000:26:00.0 on") == 0 &&
		   node_at("sys/devices/pci0000:26/" VF_A "/nvidia/current_vgpu_type"),
	   "as can all VFs, and come back");
	ok(control("mig", "0000:26:00.0 on") == -EINVAL && control("bind", VF_A " vfio-pci") == -EINVAL &&
		   control("mixed", "0000:4d:00.0 on") == -EINVAL && control("vfs", "0000:26:00.0 maybe") == -EINVAL,
	   "what a card cannot do is refused");
	sim_kernel_free(&kernel);
}

static void test_mig(void)
{
	struct answer a;

	boot("a100/4");
	ok(control("mig", "0000:61:00.0 1g.5gb") == -EINVAL && control("mig", "0000:61:00.0 on") == 0 &&
		   capacity("0000:61:00.4", "nvidia-468") == 0 && capacity("0000:61:00.4", "nvidia-474") == 0,
	   "in MIG mode there is no capacity at first");
	ok(control("mig", "0000:61:00.0 3g.20gb") == 0 && control("mig", "0000:61:00.0 1g.5gb") == 0 &&
		   control("mig", "0000:61:00.0 4g.20gb") == -ENOSPC &&
		   control("mig", "0000:61:00.0 4g.5gb") == -EINVAL,
	   "GPU instances are made of seven slices");
	ok(capacity("0000:61:00.4", "nvidia-474") == 1 && capacity("0000:61:00.5", "nvidia-474") == 1 &&
		   capacity("0000:61:00.5", "nvidia-476") == 1 && capacity("0000:61:00.5", "nvidia-475") == 0,
	   "a free one is capacity on every VF");
	ok(create(&a, "0000:61:00.4", "nvidia-474", UUID_A) == 36 && capacity("0000:61:00.5", "nvidia-474") == 0 &&
		   create(&a, "0000:61:00.5", "nvidia-474", UUID_B) == -EIO &&
		   create(&a, "0000:61:00.5", "nvidia-476", UUID_B) == 36,
	   "until it is taken");
	ok(control("mig", "0000:61:00.0 off") == -EBUSY && control("mig", "0000:61:00.0 7 off") == -EBUSY &&
		   control("mig", "0000:61:00.0 99 off") == -ENODEV,
	   "what is taken stays");
	sim_kernel_free(&kernel);
}

static void test_control(void)
{
	struct answer a;
	struct sim_handle *handle;

	boot("t4:2");
	ok(control("inject", "create 0000:84:00.0 EIO 2") == 0, "errors are ordered");
	ok(create(&a, "0000:84:00.0", "nvidia-222", UUID_A) == -EIO &&
		   create(&a, "0000:85:00.0", "nvidia-222", UUID_A) == 36 &&
		   create(&a, "0000:84:00.0", "nvidia-222", UUID_B) == -EIO &&
		   create(&a, "0000:84:00.0", "nvidia-222", UUID_B) == 36,
	   "and come on that card, so many times");
	ok(control("inject", "create 0000:86:00.0 EIO") == -ENODEV &&
		   control("inject", "create any EWHAT") == -EINVAL &&
		   control("inject", "create any EIO 1 2") == -EINVAL && control("nothing", "1") == -EINVAL &&
		   control("pid", "1") == -EINVAL && control("create_delay_ms", "-1") == -EINVAL &&
		   control("driver_removes", "off zombie") == -EINVAL && control("log", "") == 0,
	   "nonsense is refused");
	ok(control("driver_removes", "5000 zombie") == 0, "the driver removes by itself");
	ok(sim_vfio_open(&kernel, node_at("dev/vfio/0"), 42, "qemu", 7, &handle) == 0, "a device is opened");
	sim_vfio_close(handle);
	ok(node_at("sys/bus/mdev/devices/" UUID_A), "it stays for a while");
	sim_kernel_advance(&kernel, 6000);
	ok(!node_at("sys/bus/mdev/devices/" UUID_A) && capacity("0000:85:00.0", "nvidia-222") == 16,
	   "then it goes, with its capacity");
	ok(control("register", "0000:84:00.0 off") == 0 && !node_at("sys/bus/mdev/devices/" UUID_B) &&
		   !node_at("sys/class/mdev_bus/0000:84:00.0"),
	   "a card that is taken back loses its devices");
	ok(control("register", "0000:84:00.0 on") == 0 && capacity("0000:84:00.0", "nvidia-222") == 16,
	   "and comes back empty");
	sim_kernel_free(&kernel);
}

TESTS(test_models, test_create, test_remove, test_rooms, test_variant, test_mig, test_control)
