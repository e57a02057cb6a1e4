/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What an errno of a write to sysfs means, and what to do about it. */
#include "device/kernel_advice.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/auto.h"

enum {
	OTHERS = 1 << DRIVER_OTHER,
	MDEV = 1 << DRIVER_NVIDIA_MDEV,
	VF = 1 << DRIVER_NVIDIA_VF,
	NVIDIA = MDEV | VF,
	ANY = OTHERS | NVIDIA,
};

static const struct advice {
	enum kernel_step step;
	int who;
	int code;
	const char *text;
} table[] = {
	/* NVIDIA's driver returns EIO for whatever its resource manager refuses. */
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
	{ KERNEL_CREATE, ANY, EACCES,
	  "permission denied; run as root, and check that no security module forbids the write" },
	{ KERNEL_CREATE, ANY, EBUSY, "another driver was bound to the new device; see dmesg" },
	{ KERNEL_CREATE, ANY, EAGAIN, "the driver is not ready yet; try again" },
	{ KERNEL_CREATE, NVIDIA, ETIMEDOUT, "the driver got no answer; check that nvidia-vgpu-mgr is running" },
	{ KERNEL_REMOVE, NVIDIA, EBUSY, "nvidia-vgpu-mgr has not released it yet, or a guest uses it" },
	{ KERNEL_REMOVE, OTHERS, EBUSY, "a guest uses it" },
	{ KERNEL_REMOVE, ANY, EPERM, "a guest uses it" },
	{ KERNEL_REMOVE, ANY, EAGAIN, "another process is creating or removing it" },
	{ KERNEL_REMOVE, NVIDIA, EIO, "the driver reported an error; see dmesg; a reboot restores lost capacity" },
	{ KERNEL_REMOVE, ANY, EACCES,
	  "permission denied; run as root, and check that no security module forbids the write" },
	{ KERNEL_PARAMS, OTHERS | MDEV, ENOENT, "only vGPUs of NVIDIA's driver take parameters" },
	{ KERNEL_PARAMS, VF, ENOENT, "this version of NVIDIA's driver accepts no parameters for VFs" },
	{ KERNEL_PARAMS, ANY, EPERM, "a guest uses it; parameters can be set only before it starts" },
	{ KERNEL_PARAMS, ANY, E2BIG, "the driver does not accept parameters of this length" },
	{ KERNEL_PARAMS, ANY, ENXIO, "the driver no longer knows the vGPU" },
	{ KERNEL_PARAMS, ANY, EINVAL, "the driver does not know one of the parameters" },
	{ KERNEL_PARAMS, ANY, EACCES,
	  "permission denied; run as root, and check that no security module forbids the write" },
};

bool kernel_type_is_nvidia(const char *type)
{
	return strncmp(type, "nvidia-", 7) == 0;
}

const char *kernel_advice(enum kernel_step step, enum kernel_driver driver, int code)
{
	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		if (table[i].step == step && table[i].code == code && (table[i].who & 1 << driver))
			return table[i].text;
	return "";
}
