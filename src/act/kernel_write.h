/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * All writes to sysfs (create a vGPU, remove it, set its parameters), and waiting until the kernel has carried them
 * out. A plain VF is never created or removed, and kernel_exists() returns 0 for it.
 *
 * `create` blocks as long as the driver takes. `remove` blocks while the device is open: no signal ends it
 * (vfio_unregister_group_dev, since 5.2), and a libvirt that waits for the caller blocks too. Callers ensure that no
 * process has the device open (vfio_users.h), and that no other process writes to the same pGPU meanwhile (its lock).
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "look/kernel.h"

/*
 * Creates the vGPU. The errno is the driver's own (if full: EIO, ENOSPC, EUSERS, EPERM or ENOMEM). The text has the
 * attempt, the kernel's error, and what that means for this driver, if known. -EEXIST: the UUID is in use on this host.
 */
int kernel_create(const struct host *host, const struct vgpu_ref *vgpu, struct err *err);

/*
 * Waits until the device is complete: it has its type (in mdev_type or, for a variant VF, current_vgpu_type), its
 * iommu_group and its node in /dev/vfio. Returns:
 *   0: complete
 *   -ETIMEDOUT: not complete after `wait_ms`; the text says what is missing
 *   -ENODEV: it disappeared again
 *   -EEXIST: it has another type
 *   other: an error
 */
int kernel_wait_complete(const struct host *host, const struct vgpu_ref *vgpu, int wait_ms, struct err *err);

/* Does the driver (NVIDIA's) remove a closed mdev itself? Removing it earlier can leave a zombie until a reboot. */
bool kernel_driver_removes(const struct host *host, const struct vgpu_ref *vgpu);

/*
 * Removes the device and waits until it is gone. Repeats the write after an error that may be temporary (EAGAIN, EBUSY,
 * EPERM, ENODEV, ENOENT) within `wait_ms`. A device that is gone already is not an error.
 */
int kernel_remove(const struct host *host, const struct vgpu_ref *vgpu, int wait_ms, struct err *err);

/* Writes an attribute of an mdev: a file below its directory, named by mdevctl_attrs(). */
int kernel_set_attr(const struct host *host, const struct vgpu_ref *vgpu, const char *name, const char *value,
		    struct err *err);

/* Writes nvidia/vgpu_params. The device must not be open. Adds a newline, because the driver drops the last byte. */
int kernel_set_params(const struct host *host, const struct vgpu_ref *vgpu, const char *params, struct err *err);

/* The meaning of an errno from sysfs depends on the step and on the driver: NVIDIA's for mdevs or VFs, or another. */
enum kernel_step { KERNEL_CREATE = 1, KERNEL_REMOVE = 2, KERNEL_PARAMS = 4 };
enum kernel_driver { DRIVER_OTHER, DRIVER_NVIDIA_MDEV, DRIVER_NVIDIA_VF };

/* The cause and the fix, to follow the kernel's error; "" if there is nothing to add. `code` is positive. */
const char *kernel_advice(enum kernel_step step, enum kernel_driver driver, int code);
