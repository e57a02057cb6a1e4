/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* All writes to sysfs, and the meaning of their errors. */
#include "act/kernel_write.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "look/typelist.h"
#include "sys/timed_child.h"

enum {
	STEP_FIRST_US = 50, /* usually the kernel has finished after this time */
	STEP_LAST_US = 20000,
};

/* Returns the driver of a vGPU. If the type of an mdev is unknown, reads the type from the device. */
static enum kernel_driver driver_of(const struct host *host, const struct vgpu_ref *vgpu)
{
	char type[TYPE_SIZE];
	struct err ignored;

	if (vgpu->framework != FW_MDEV)
		return vgpu->framework == FW_VARIANT ? DRIVER_NVIDIA_VF : DRIVER_OTHER;
	memcpy(type, vgpu->type, sizeof(type));
	if (!*type && framework_of(vgpu)->look(host, vgpu, type, &ignored) != 1)
		return DRIVER_OTHER;
	return typelist_number(type) ? DRIVER_NVIDIA_MDEV : DRIVER_OTHER;
}

enum {
	OTHERS = 1 << DRIVER_OTHER,
	MDEV = 1 << DRIVER_NVIDIA_MDEV,
	VF = 1 << DRIVER_NVIDIA_VF,
	NVIDIA = MDEV | VF,
	ANY = OTHERS | NVIDIA,
};

static const struct advice {
	int steps, who, code;
	const char *text;
} table[] = {
	/* NVIDIA's driver returns EIO for all refusals of its resource manager. */
	{ KERNEL_CREATE, NVIDIA, EIO,
	  "the driver refused; usually the card is full or holds vGPUs of another framebuffer size, or it is in MIG mode "
	  "without a free GPU instance of this profile; see dmesg" },
	{ KERNEL_CREATE, ANY, EEXIST,
	  "a device with this UUID already exists, or its removal waits for the process that has it open" },
	{ KERNEL_CREATE, OTHERS | MDEV, ENOENT,
	  "the parent does not offer this type, or its driver is being unloaded" },
	{ KERNEL_CREATE, VF, ENOENT,
	  "the VF is gone, or NVIDIA's host driver is not bound to it; see sriov-manage and 'vgpu-lease inventory'" },
	{ KERNEL_CREATE, MDEV, ENODEV,
	  "the parent is being removed; sriov-manage or a restart of nvidia-vgpud is still running" },
	{ KERNEL_CREATE, VF, ENODEV, "the VF is not registered yet; nvidia-vgpud or sriov-manage is still running" },
	{ KERNEL_CREATE, OTHERS, ENODEV, "the parent is being removed; its driver is being unloaded" },
	{ KERNEL_CREATE, ANY, ENOSPC, "the card is full" },
	{ KERNEL_CREATE, ANY, EUSERS, "the card is full" },
	{ KERNEL_CREATE, OTHERS, ENOMEM, "the card is full, or the kernel is out of memory; see dmesg" },
	{ KERNEL_CREATE, OTHERS, EPERM, "the card is full, or its driver forbids it; see dmesg" },
	{ KERNEL_CREATE, VF, EPERM, "the VF already has a type; another process took it" },
	{ KERNEL_CREATE, MDEV, EINVAL,
	  "the driver does not know this type for the card; check that nvidia-vgpud has finished" },
	{ KERNEL_CREATE, VF, EINVAL,
	  "the driver rejected the type; check that nvidia-vgpud has finished and that this card provides the type" },
	{ KERNEL_CREATE, OTHERS, EINVAL, "the driver rejected this type or UUID" },
	{ KERNEL_CREATE, ANY, EBUSY, "another driver was bound to the new device; see dmesg" },
	{ KERNEL_CREATE, ANY, EAGAIN, "the driver is not ready yet; try again" },
	{ KERNEL_CREATE, NVIDIA, ETIMEDOUT, "the driver got no answer; check that nvidia-vgpu-mgr is running" },
	{ KERNEL_REMOVE, NVIDIA, EBUSY, "nvidia-vgpu-mgr has not released it yet, or a guest uses it" },
	{ KERNEL_REMOVE, OTHERS, EBUSY, "a guest uses it" },
	{ KERNEL_REMOVE, ANY, EPERM, "a guest uses it" },
	{ KERNEL_REMOVE, ANY, EAGAIN, "another process is creating or removing it" },
	{ KERNEL_REMOVE, NVIDIA, EIO, "the driver reported an error; see dmesg; a reboot restores lost capacity" },
	{ KERNEL_PARAMS, OTHERS | MDEV, ENOENT, "only vGPUs of NVIDIA's driver take parameters" },
	{ KERNEL_PARAMS, VF, ENOENT, "this version of NVIDIA's driver accepts no parameters for VFs" },
	{ KERNEL_PARAMS, ANY, EPERM, "a guest uses it; parameters can be set only before it starts" },
	{ KERNEL_PARAMS, ANY, E2BIG, "the driver does not accept parameters of this length" },
	{ KERNEL_PARAMS, ANY, ENXIO, "the driver no longer knows the vGPU" },
	{ KERNEL_PARAMS, ANY, EINVAL, "the driver does not know one of the parameters" },
	{ KERNEL_CREATE | KERNEL_REMOVE | KERNEL_PARAMS, ANY, EACCES,
	  "permission denied; run as root, and check that no security module forbids the write" },
	{ KERNEL_CREATE | KERNEL_REMOVE | KERNEL_PARAMS, ANY, EROFS,
	  "/sys is read-only for this process; see ProtectKernelTunables in libvirt's unit, or the mounts of its "
	  "container" },
};

const char *kernel_advice(enum kernel_step step, enum kernel_driver driver, int code)
{
	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		if (table[i].steps & step && table[i].code == code && table[i].who & 1 << driver)
			return table[i].text;
	return "";
}

static void refused(struct err *err, enum kernel_step step, enum kernel_driver driver, int code)
{
	const char *advice = kernel_advice(step, driver, code);

	err_set(err, code, "%s%s%s", err_describe(code), *advice ? ": " : "", advice);
}

static void sleep_step(int *us)
{
	struct timespec t = { .tv_nsec = *us * 1000L };

	nanosleep(&t, NULL);
	*us = *us * 2 < STEP_LAST_US ? *us * 2 : STEP_LAST_US;
}

static bool has_node(const struct host *host, const char *directory, const char *name)
{
	char path[NAME_MAX + 32];

	return snprintf(path, sizeof(path), "%s/%s", directory, name) < (int)sizeof(path) &&
	       sys_exists(host->root, path);
}

/* Does the device have a node /dev/vfio/devices/vfioN? A kernel without VFIO groups creates no other node. */
static bool has_cdev(const struct host *host, int device)
{
	const struct dirent *e;
	autoclosedir DIR *d = sys_list(device, "vfio-dev");

	while ((e = sys_next(d)))
		if (has_node(host, "dev/vfio/devices", e->d_name))
			return true;
	return false;
}

/* Returns what is missing; NULL: the device has a VFIO node. */
static const char *node_missing(const struct host *host, const struct vgpu_ref *vgpu)
{
	char group[32];
	autoclose int device = inventory_open(host, vgpu->id);
	bool grouped = sys_link(device, "iommu_group", group, sizeof(group)) == 0;

	if ((grouped && has_node(host, "dev/vfio", group)) || has_cdev(host, device))
		return NULL;
	return grouped ? "its node in /dev/vfio has not appeared"
		       : "its iommu_group has not appeared; before Linux 5.15, run 'modprobe vfio_mdev'";
}

static int poke(const struct host *host, const struct vgpu_ref *vgpu, const char *file, const char *value)
{
	autofree char *path = NULL, *line = mem_format("%s\n", value);
	char device[VGPU_PATH_SIZE];
	struct err ignored;

	if (inventory_path(device, vgpu->id, "", &ignored) < 0)
		return -EINVAL;
	path = mem_format("%s/%s", device, file);
	return timed_child_poke(host->root, path, line, strlen(line));
}

int kernel_create(const struct host *host, const struct vgpu_ref *vgpu, struct err *err)
{
	const struct framework_ops *ops = framework_of(vgpu);
	struct kernel_write write = { 0 };
	int r = ops->creation ? ops->creation(&write, vgpu, err) : 0;

	if (r < 0 || !ops->creation)
		return r;
	r = timed_child_poke(host->root, write.path, write.line, strlen(write.line));
	if (r == 0)
		return 0;
	refused(err, KERNEL_CREATE, driver_of(host, vgpu), -r);
	return err_in(err, "creating vGPU %s of type %s on %s", vgpu->id, vgpu->type, vgpu->parent);
}

int kernel_wait_complete(const struct host *host, const struct vgpu_ref *vgpu, int wait_ms, struct err *err)
{
	const struct framework_ops *ops = framework_of(vgpu);
	int64_t deadline = sys_now_ms() + wait_ms;
	int us = STEP_FIRST_US;
	char type[TYPE_SIZE], missing[REASON_SIZE];
	bool seen = false;

	for (; ops->creation; sleep_step(&us)) {
		int r = ops->look(host, vgpu, type, err);
		const char *what = r == 1 ? node_missing(host, vgpu) : err->text;

		seen |= r >= 0;
		if (r == 1 && strcmp(type, vgpu->type) != 0) {
			err_set(err, EEXIST, "its type is %s, not %s", type, vgpu->type);
			return err_in(err, "vGPU %s", vgpu->id);
		}
		if (!what || (r < 0 && r != -ENOENT && r != -ETIMEDOUT))
			return r < 0 ? r : 0;
		text_cut(missing, sizeof(missing), what);
		if (r == -ENOENT && seen)
			err_set(err, ENODEV,
				"vGPU %s disappeared again after its creation; see dmesg (troubleshooting: vgpu-is-not-complete)",
				vgpu->id);
		else if (sys_now_ms() >= deadline)
			err_set(err, ETIMEDOUT,
				"vGPU %s is not complete after %d ms: %s (troubleshooting: vgpu-is-not-complete)",
				vgpu->id, wait_ms, missing);
		else
			continue;
		return err_cause(err, strlen("vGPU  ") + strlen(vgpu->id));
	}
	return 0;
}

static bool may_pass(int code)
{
	return code == EAGAIN || code == EBUSY || code == EPERM || code == ENODEV || code == ENOENT;
}

int kernel_remove(const struct host *host, const struct vgpu_ref *vgpu, int wait_ms, struct err *err)
{
	const struct framework_ops *ops = framework_of(vgpu);
	int64_t deadline = sys_now_ms() + wait_ms;
	int us = STEP_FIRST_US;
	int there, r = 1; /* `r` is 0 once the kernel has accepted the removal */

	/* Check before the first write, because a VF may have another type by now, and must then stay. */
	for (there = ops->removal.file ? kernel_exists(host, vgpu) : 0; there > 0; sleep_step(&us)) {
		/* A successful write does not prove that an mdev is gone: if two processes write, both succeed. */
		if (r != 0)
			r = poke(host, vgpu, ops->removal.file, ops->removal.value);
		/* The driver refuses the second of two writes to a VF, so a type that it has now is a new vGPU's. */
		if (r == 0 && ops->keeps_id)
			return 0;
		there = kernel_exists(host, vgpu);
		if (there <= 0)
			break;
		if (r < 0 && (!may_pass(-r) || sys_now_ms() >= deadline)) {
			refused(err, KERNEL_REMOVE, driver_of(host, vgpu), -r);
			return err_in(err, "removing vGPU %s", vgpu->id);
		}
		if (sys_now_ms() >= deadline)
			return err_set(
				err, EBUSY,
				"removing vGPU %s: still present after %d ms, although the kernel accepted the removal; see dmesg (troubleshooting: removing-vgpu)",
				vgpu->id, wait_ms);
	}
	return there < 0 ? err_sys(err, -there, "removing vGPU %s: cannot tell whether it exists", vgpu->id) : 0;
}

int kernel_set_params(const struct host *host, const struct vgpu_ref *vgpu, const char *params, struct err *err)
{
	const struct framework_ops *ops = framework_of(vgpu);
	/* poke() adds a newline. The driver drops the last byte. */
	int r = ops->creation ? poke(host, vgpu, "nvidia/vgpu_params", params) : 0;

	if (r == 0)
		return 0;
	refused(err, KERNEL_PARAMS, driver_of(host, vgpu), -r);
	err_in(err, "vGPU %s: setting the parameters", vgpu->id);
	/* Include "setting the parameters" in the cause, which would otherwise read like that of a failed creation. */
	return err_cause(err, strlen("vGPU : ") + strlen(vgpu->id));
}

int kernel_set_attr(const struct host *host, const struct vgpu_ref *vgpu, const char *name, const char *value,
		    struct err *err)
{
	int r = poke(host, vgpu, name, value);

	if (r == 0)
		return 0;
	err_set(err, -r, "setting %s to '%s', as its mdevctl definition has it: %s", name, value, err_describe(-r));
	return err_in(err, "vGPU %s", vgpu->id);
}

bool kernel_driver_removes(const struct host *host, const struct vgpu_ref *vgpu)
{
	return driver_of(host, vgpu) == DRIVER_NVIDIA_MDEV;
}
