/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The only writes to sysfs: create a vGPU, remove it, set its parameters; and the waits until the kernel has done so.
 *
 * One interface for the three frameworks. An mdev is made by its parent's `create` and gone after its `remove`. A VF of
 * NVIDIA's variant driver becomes a vGPU when a type's number is written to its current_vgpu_type, and is none when
 * that reads 0. A plain VF is always there: nothing is made or removed of it, and it never "exists" as something made.
 *
 * create blocks as long as the driver takes. remove of a device that is open blocks in the kernel beyond any signal
 * (vfio_unregister_group_dev, since 5.2), and takes libvirt with it: callers make sure that nobody has it open
 * (handles), and that nobody else writes to the same pGPU meanwhile (its lock).
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "sys/sys.h"
#include "host/inventory.h"

/* A vGPU of which no more is known than its id: an mdev, or a VF with a type. */
struct vgpu_ref kernel_vgpu(const char *id);

/*
 * The kernel's count of what the parent can make of the type now; never negative; -ENOENT where parent or type is not
 * there. Of a VF 1 or 0.
 */
int kernel_available(const struct host *host, const struct vgpu_ref *vgpu, struct err *err);

/*
 * Makes the vGPU. The errno is the driver's own (full can be EIO, ENOSPC, EUSERS, EPERM or ENOMEM); the text says what
 * was tried, what the kernel said, and what that means for this driver where it is known. -EEXIST: the UUID is taken on
 * this host.
 */
int kernel_create(const struct host *host, const struct vgpu_ref *vgpu, struct err *err);

/*
 * Waits until the device is whole: it is of its type (mdev_type; current_vgpu_type reads the number back), its
 * iommu_group and its node in /dev/vfio are there. -ETIMEDOUT after `wait_ms`: the text says what is missing; -ENODEV:
 * it went away again; -EEXIST: it is of another type.
 */
int kernel_wait_complete(const struct host *host, const struct vgpu_ref *vgpu, int wait_ms, struct err *err);

/*
 * Is there such a device: 1, 0, or negative errno. A VF with another type than this one is somebody else's, and so not
 * this device; with type "" any will do.
 */
int kernel_exists(const struct host *host, const struct vgpu_ref *vgpu);

/* The same for who does not ask why it cannot be told. */
enum presence kernel_presence(const struct host *host, const struct vgpu_ref *vgpu);

/*
 * Does the parent's driver (NVIDIA's) remove its mdev by itself once it is closed? Removing it first can leave a zombie
 * until the host is booted again.
 */
bool kernel_driver_removes(const struct host *host, const struct vgpu_ref *vgpu);

/*
 * Removes the device and sees that it is gone, retrying what may pass (EAGAIN, EBUSY, EPERM) within `wait_ms`. One that
 * is gone already is no error.
 */
int kernel_remove(const struct host *host, const struct vgpu_ref *vgpu, int wait_ms, struct err *err);

/* Writes an attribute of an mdev, a file below its directory that mdevctl_attrs() has named. */
int kernel_set_attr(const struct host *host, const struct vgpu_ref *vgpu, const char *name, const char *value,
		    struct err *err);

/*
 * Writes nvidia/vgpu_params: only on a device that is not open; the driver drops the last byte, so a newline follows.
 */
int kernel_set_params(const struct host *host, const struct vgpu_ref *vgpu, const char *params, struct err *err);
