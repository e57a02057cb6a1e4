/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * All writes to sysfs. Each function waits until the kernel has carried out the write. A plain VF is never created or
 * removed.
 *
 * A write to `create` blocks as long as the driver works. A write to `remove` blocks while the device is open, and no
 * signal ends it (vfio_unregister_group_dev, since 5.2). So the caller of kernel_remove() checks that no process has
 * the device open (vfio_users.h), and the caller of kernel_create() holds the pGPU's lock. Both hold the vGPU's work
 * lock.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "look/inventory.h"

/* -EEXIST: the UUID is in use; other: the driver's errno; for a full card EIO, ENOSPC, EUSERS, EPERM or ENOMEM. */
int kernel_create(const struct host *host, const struct vgpu_ref *vgpu, struct err *err);

/*
 * Waits until the device has its type, its iommu_group and its node in /dev/vfio. Returns:
 *   0: complete, or a plain VF
 *   -ETIMEDOUT: not complete after `wait_ms`; the text says what is missing
 *   -ENODEV: the device disappeared again
 *   -EEXIST: the device has another type
 *   other: the device cannot be read
 */
int kernel_wait_complete(const struct host *host, const struct vgpu_ref *vgpu, int wait_ms, struct err *err);

/* Does the driver remove a closed mdev itself, as NVIDIA's does? If so, our removal may leave it occupying the card. */
bool kernel_driver_removes(const struct host *host, const struct vgpu_ref *vgpu);

/*
 * Removes the device. Repeats the write after an error that may be temporary, for `wait_ms`. 0: gone, or the VF has
 * another type by now; -EBUSY: still present; other: the driver's errno, or unknown whether the device exists.
 */
int kernel_remove(const struct host *host, const struct vgpu_ref *vgpu, int wait_ms, struct err *err);

/* Writes an attribute from mdevctl_attrs(): a file below the mdev's directory. */
int kernel_set_attr(const struct host *host, const struct vgpu_ref *vgpu, const char *name, const char *value,
		    struct err *err);

/* The device must not be open. */
int kernel_set_params(const struct host *host, const struct vgpu_ref *vgpu, const char *params, struct err *err);

enum kernel_step { KERNEL_CREATE = 1, KERNEL_REMOVE = 2, KERNEL_PARAMS = 4 };
enum kernel_driver { DRIVER_OTHER, DRIVER_NVIDIA_MDEV, DRIVER_NVIDIA_VF };

/* Returns cause and fix of a positive errno, to be appended to the kernel's error; "": none known. */
const char *kernel_advice(enum kernel_step step, enum kernel_driver driver, int code);
