/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The writes to sysfs, on plain files: what is written, what is waited for, and what a refusal says. */
#include "act/kernel_write.h"

#include "lib/names.h"
#include "lib/messages.h"
#include "lib/tree.h"
#include "lib/vgpu.h"

#define TYPE "sys/class/mdev_bus/0000:84:00.0/mdev_supported_types/nvidia-222"
#define T4(type) MDEV("0000:84:00.0", type, "")
#define OF_TYPE(type) MDEV("", type, A)
#define DEVICE "sys/bus/mdev/devices/" A

static int available(const struct host *host, const struct vgpu_ref *vgpu, struct err *err)
{
	return framework_of(vgpu)->available(host, vgpu, err);
}

/* The calls, on the host of the function that they stand in. */
#define AVAILABLE(vgpu) available(&tree.host, vgpu, &err)
#define CREATE(vgpu) kernel_create(&tree.host, vgpu, &err)
#define COMPLETE(vgpu, ms) kernel_wait_complete(&tree.host, vgpu, ms, &err)
#define EXISTS(vgpu) kernel_exists(&tree.host, vgpu)
#define REMOVE(vgpu, ms) kernel_remove(&tree.host, vgpu, ms, &err)

static void is_file(const struct tree *tree, const char *path, const char *req, const char *what)
{
	char got[128] = "";

	sys_read(tree->host.root, path, got, sizeof(got));
	is(got, req, what);
}

static struct err err;

static void counts(void)
{
	TREE(tree, TYPE "/available_instances = 3\n");
	ok(AVAILABLE(T4("nvidia-222")) == 3, "the kernel's count is read");
	tree_add(&tree, TYPE "/available_instances = -2\n");
	ok(AVAILABLE(T4("nvidia-222")) == 0, "a negative one is none");
	tree_add(&tree, TYPE "/available_instances = x\n");
	ok_err(AVAILABLE(T4("nvidia-222")) == -EINVAL, "what is no number is an error");
	ok_err(AVAILABLE(T4("nvidia-9")) == -ENOENT, "a type that is not offered");
	ok_err(AVAILABLE(MDEV("..", "nvidia-9", "")) == -EINVAL, "a path is no parent");
	ok_err(AVAILABLE(MDEV("mtty", "../x", "")) == -EINVAL, "a path is no type");
}

static void create(void)
{
	TREE(tree, TYPE "/create = \n");
	ok(CREATE(MDEV("0000:84:00.0", "nvidia-222", "C6F1A2B3-0000-4000-8000-00000000000A")) == 0,
	   "a UUID is written");
	is_file(&tree, TYPE "/create", A, "in lower case");
	ok_err(CREATE(MDEV("0000:84:00.0", "nvidia-222", "x")) == -EINVAL, "what is no UUID is not");
	ok_err(CREATE(MDEV("0000:84:00.0", "nvidia-9", A)) == -ENOENT, "a type that is not there");
	ok(strstr(err.text, A) && strstr(err.text, "nvidia-9") && strstr(err.text, "0000:84:00.0"),
	   "the text names the vGPU, the type and the parent");
}

static void completeness(void)
{
	TREE(tree, "dev/vfio/vfio = \n");
	ok_err(COMPLETE(OF_TYPE("nvidia-222"), 5) == -ETIMEDOUT, "a vGPU that does not come");
	ok(EXISTS(OF_TYPE("")) == 0, "is not there");
	tree_add(&tree, DEVICE "/\n");
	ok(EXISTS(OF_TYPE("")) == 1, "one with a directory is there");
	ok_err(COMPLETE(OF_TYPE("nvidia-222"), 5) == -ETIMEDOUT && strstr(err.text, "mdev_type"), "but not whole");
	tree_add(&tree, DEVICE "/mdev_type -> ../mdev_supported_types/nvidia-222\n");
	ok_err(COMPLETE(OF_TYPE("nvidia-222"), 5) == -ETIMEDOUT && strstr(err.text, "iommu_group"),
	       "not without a group");
	tree_add(&tree, DEVICE "/iommu_group -> ../../../kernel/iommu_groups/12\n");
	ok_err(COMPLETE(OF_TYPE("nvidia-222"), 5) == -ETIMEDOUT && strstr(err.text, "/dev/vfio"), "nor without a node");
	tree_add(&tree, DEVICE "/vfio-dev/vfio3/\ndev/vfio/devices/vfio3 = \n");
	ok(COMPLETE(OF_TYPE("nvidia-222"), 5) == 0, "with a node of its own it is");
	tree_remove(&tree, DEVICE "/vfio-dev");
	tree_add(&tree, "dev/vfio/12 = \n");
	ok(COMPLETE(OF_TYPE("nvidia-222"), 0) == 0, "as it is with that of its group, without waiting");
	ok_err(COMPLETE(OF_TYPE("nvidia-9"), 5) == -EEXIST, "of another type it is another's");
}

static void removal(void)
{
	TREE(tree, "sys/bus/mdev/devices/\n");
	ok(REMOVE(OF_TYPE(""), 0) == 0, "one that is gone already is no error");
	tree_add(&tree, DEVICE "/remove = \n");
	ok_err(REMOVE(OF_TYPE(""), 5) == -EBUSY, "one that stays after the write is not gone");
	is_file(&tree, DEVICE "/remove", "1", "1 is written, as 0 would do nothing");
	tree_remove(&tree, DEVICE "/remove");
	ok_err(REMOVE(OF_TYPE(""), 5) == -ENOENT, "one that cannot be removed");
	ok_err(REMOVE(MDEV("", "", "x"), 5) == -EINVAL, "what is no UUID");
}

static void params(void)
{
	char raw[64] = "";
	int fd;

	TREE(tree, DEVICE "/nvidia/vgpu_params = \n");
	ok(kernel_set_params(&tree.host, OF_TYPE(""), "disable_vnc=1", &err) == 0, "parameters are written");
	fd = openat(tree.host.root, DEVICE "/nvidia/vgpu_params", O_RDONLY | O_CLOEXEC);
	ok(read(fd, raw, sizeof(raw)) == 14 && strcmp(raw, "disable_vnc=1\n") == 0,
	   "with a newline, as the driver drops the last byte");
	close(fd);
	tree_remove(&tree, DEVICE "/nvidia");
	ok_err(kernel_set_params(&tree.host, OF_TYPE(""), "x=1", &err) == -ENOENT, "only NVIDIA's take them");
}

#define ADDRESS "0000:41:00.4"
#define VF "sys/bus/pci/devices/" ADDRESS

static void a_vf_with_a_type(void)
{
	const struct vgpu_ref *v = VARIANT(ADDRESS, "nvidia-1145");

	TREE(tree, VF "/nvidia/creatable_vgpu_types = ID    : vGPU Name\\n1145  : NVIDIA L40S-1B\n" VF
		      "/nvidia/current_vgpu_type = 0\n" VF "/nvidia/vgpu_params = \n");
	ok(AVAILABLE(v) == 1, "a VF: a type that it lists can be made");
	ok(AVAILABLE(VARIANT(ADDRESS, "nvidia-1150")) == 0, "a VF: another cannot");
	ok_err(AVAILABLE(VARIANT("0000:41:00.5", "nvidia-1145")) == -ENOENT, "a VF without the driver");
	ok_err(AVAILABLE(VARIANT(ADDRESS, "mtty-1")) == -EINVAL, "not NVIDIA's");
	ok(EXISTS(v) == 0 && EXISTS(VARIANT("0000:41:00.9", "")) != 1, "a VF that reads 0 has none");
	ok_err(COMPLETE(v, 5) == -ETIMEDOUT && says(err.text, "M_READS_ZERO"), "and is not whole");
	ok(CREATE(v) == 0, "a type is written");
	is_file(&tree, VF "/nvidia/current_vgpu_type", "1145", "as its number");
	ok_err(COMPLETE(v, 5) == -ETIMEDOUT, "without a node it is not whole");
	tree_add(&tree, VF "/iommu_group -> ../../../../kernel/iommu_groups/40\ndev/vfio/40 = \n");
	ok(COMPLETE(v, 0) == 0, "with one it is");
	ok_err(COMPLETE(VARIANT(ADDRESS, "nvidia-1150"), 5) == -EEXIST, "of another type it is another's");
	ok(EXISTS(v) == 1 && EXISTS(VARIANT(ADDRESS, "")) == 1 && EXISTS(VARIANT(ADDRESS, "nvidia-1150")) == 0,
	   "it exists as what it is");
	ok(kernel_set_params(&tree.host, v, "frame_rate_limiter=0", &err) == 0, "parameters are written");
	is_file(&tree, VF "/nvidia/vgpu_params", "frame_rate_limiter=0", "to the VF");
	tree_add(&tree, VF "/nvidia/current_vgpu_type = 0\n");
	ok(REMOVE(v, 5) == 0, "one that reads 0 is gone already");
	ok_err(CREATE(VARIANT("../x", "nvidia-1145")) == -EINVAL, "a path is no VF");
	ok(!kernel_driver_removes(&tree.host, v), "the driver does not take a type back by itself");
}

static void a_plain_vf(void)
{
	const struct vgpu_ref *v = PLAIN_VF("0000:03:00.1");

	TREE(tree, "sys/bus/pci/devices/0000:03:00.1/physfn -> ../0000:03:00.0\n"
		   "sys/bus/pci/devices/0000:03:00.0/\n");
	ok(AVAILABLE(v) == 1, "a plain VF that is there can be given out");
	ok_err(AVAILABLE(PLAIN_VF("0000:03:00.2")) == -ENOENT, "one that is not cannot");
	ok(CREATE(v) == 0 && COMPLETE(v, 0) == 0 && REMOVE(v, 0) == 0, "nothing is made or removed of it");
	ok(EXISTS(v) == 1 && EXISTS(PLAIN_VF("0000:03:00.2")) == 0 && EXISTS(PLAIN_VF("0000:03:00.0")) == 0,
	   "it exists, which a card or an address without a device does not");
}

static void advice(void)
{
	ok(says(kernel_advice(KERNEL_CREATE, DRIVER_NVIDIA_VF, EPERM), "M_ADVICE_TAKEN"),
	   "a VF that is taken is told of");
	ok(strstr(kernel_advice(KERNEL_CREATE, DRIVER_NVIDIA_VF, ENODEV), "nvidia-vgpud"), "so is one that comes up");
	ok(says(kernel_advice(KERNEL_CREATE, DRIVER_NVIDIA_MDEV, EROFS), "M_ADVICE_READ_ONLY"),
	   "so is who mounts /sys");
	ok(says(kernel_advice(KERNEL_CREATE, DRIVER_NVIDIA_MDEV, EIO), "M_ADVICE_FULL"), "NVIDIA says full with EIO");
	ok(says(kernel_advice(KERNEL_CREATE, DRIVER_NVIDIA_MDEV, EIO), "M_ADVICE_SIZE"),
	   "or that it has another framebuffer size");
	is(kernel_advice(KERNEL_CREATE, DRIVER_OTHER, EIO), "", "others do not");
	ok(says(kernel_advice(KERNEL_CREATE, DRIVER_OTHER, EUSERS), "M_ADVICE_FULL"),
	   "the kernel itself says so with EUSERS");
	ok(says(kernel_advice(KERNEL_CREATE, DRIVER_OTHER, ENOSPC), "M_ADVICE_FULL"), "drivers do with ENOSPC");
	ok(strstr(kernel_advice(KERNEL_CREATE, DRIVER_NVIDIA_MDEV, ENODEV), "sriov-manage"),
	   "a parent on its way out is explained");
	ok(!strstr(kernel_advice(KERNEL_CREATE, DRIVER_OTHER, ENODEV), "nvidia"),
	   "without NVIDIA's programs where it is none of NVIDIA's");
	is(kernel_advice(KERNEL_REMOVE, DRIVER_OTHER, EXDEV), "", "an errno that nobody gives has no advice");
}

TESTS(counts, create, completeness, removal, params, a_vf_with_a_type, a_plain_vf, advice)
