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
	/* NVIDIA's driver gives this one for whatever its resource manager refuses. */
	{ KERNEL_CREATE, NVIDIA, EIO,
	  "the driver refused: usually the card is full or holds vGPUs of another framebuffer size, or it is in MIG mode "
	  "without a free GPU instance of this profile; see dmesg" },
	{ KERNEL_CREATE, ANY, EEXIST,
	  "this host has a device of that UUID already, or one whose removal waits for the process that has it open" },
	{ KERNEL_CREATE, OTHERS | MDEV, ENOENT,
	  "the parent does not offer this type, or its driver is being unloaded" },
	{ KERNEL_CREATE, VF, ENOENT,
	  "the VF is gone, or NVIDIA's host driver is not bound to it: see sriov-manage and 'vgpu-lease inventory'" },
	{ KERNEL_CREATE, MDEV, ENODEV,
	  "the parent is being taken down: sriov-manage or a restart of nvidia-vgpud still runs" },
	{ KERNEL_CREATE, VF, ENODEV,
	  "the VF is not registered: nvidia-vgpud still registers it, or sriov-manage or a restart of it runs" },
	{ KERNEL_CREATE, OTHERS, ENODEV, "the parent is being taken down: its driver is being unloaded" },
	{ KERNEL_CREATE, ANY, ENOSPC, "the card is full" },
	{ KERNEL_CREATE, ANY, EUSERS, "the card is full" },
	{ KERNEL_CREATE, OTHERS, ENOMEM, "the card is full, or the kernel is out of memory; see dmesg" },
	{ KERNEL_CREATE, OTHERS, EPERM, "the card is full, or its driver forbids it; see dmesg" },
	{ KERNEL_CREATE, VF, EPERM, "the VF has a type already: somebody else took it" },
	{ KERNEL_CREATE, MDEV, EINVAL,
	  "the driver does not know this type for the card: nvidia-vgpud must have finished" },
	{ KERNEL_CREATE, VF, EINVAL,
	  "the driver takes no such number: is nvidia-vgpud done, and the type one of this card?" },
	{ KERNEL_CREATE, OTHERS, EINVAL, "the driver does not take this type or UUID" },
	{ KERNEL_CREATE, ANY, EACCES, "only root may write there, and no security module may forbid it" },
	{ KERNEL_CREATE, ANY, EBUSY, "another driver has taken the new device; see dmesg" },
	{ KERNEL_CREATE, ANY, EAGAIN, "the driver is not ready yet; try again" },
	{ KERNEL_CREATE, NVIDIA, ETIMEDOUT, "the driver got no answer: is nvidia-vgpu-mgr running?" },
	{ KERNEL_REMOVE, NVIDIA, EBUSY, "nvidia-vgpu-mgr has not let go of it yet, or a guest uses it" },
	{ KERNEL_REMOVE, OTHERS, EBUSY, "a guest uses it" },
	{ KERNEL_REMOVE, ANY, EPERM, "a guest uses it" },
	{ KERNEL_REMOVE, ANY, EAGAIN, "it is being created or removed by somebody else" },
	{ KERNEL_REMOVE, NVIDIA, EIO,
	  "the driver gave an error; see dmesg: a card that lost capacity gets it back at a reboot" },
	{ KERNEL_REMOVE, ANY, EACCES, "only root may write there, and no security module may forbid it" },
	{ KERNEL_PARAMS, OTHERS | MDEV, ENOENT, "only vGPUs of NVIDIA's driver take parameters" },
	{ KERNEL_PARAMS, VF, ENOENT, "this version of NVIDIA's driver takes none for VFs" },
	{ KERNEL_PARAMS, ANY, EPERM, "a guest uses it: parameters can be set before it starts only" },
	{ KERNEL_PARAMS, ANY, E2BIG, "the driver takes no parameters of that length" },
	{ KERNEL_PARAMS, ANY, ENXIO, "the driver does not know the vGPU any more" },
	{ KERNEL_PARAMS, ANY, EINVAL, "the driver does not know one of the parameters" },
	{ KERNEL_PARAMS, ANY, EACCES, "only root may write there, and no security module may forbid it" },
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
