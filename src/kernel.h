/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The only writes to sysfs: create a vGPU, remove it, set its parameters; and the waits until the kernel has done so.
 *
 * create blocks as long as the driver takes. remove of a device that is open blocks in the kernel beyond any signal
 * (vfio_unregister_group_dev, since 5.2), and takes libvirt with it: callers make sure that nobody has it open
 * (handles), and that nobody else writes to the same pGPU meanwhile (its lock).
 *
 * Depends on: err, host, file, ident. Knows nothing of leases, the configuration or libvirt.
 */
#pragma once

#include <stdbool.h>

#include "err.h"
#include "host.h"
#include "ident.h"

/*
 * The kernel's count of what `parent` can make of `type` now; never negative; -ENOENT where parent or type is not
 * there.
 */
int kernel_available(const struct host *host, const char *parent, const char *type, struct err *err);

/*
 * Makes the mdev `uuid`. The errno is the driver's own (full can be EIO, ENOSPC, EUSERS, EPERM or ENOMEM); the text
 * says what was tried, what the kernel said, and what that means for this driver where it is known. -EEXIST: the UUID
 * is taken on this host.
 */
int kernel_create(const struct host *host, const char *parent, const char *type, const char *uuid, struct err *err);

/*
 * Waits until the device is whole: mdev_type (and it is `type`), iommu_group, and /dev/vfio/GROUP are there.
 * -ETIMEDOUT after `wait_ms`: the text says what is missing; -ENODEV: it went away again.
 */
int kernel_wait_complete(const struct host *host, const char *uuid, const char *type, int wait_ms, struct err *err);

/* Is there such a device in /sys/bus/mdev/devices? 1, 0, or negative errno. */
int kernel_exists(const struct host *host, const char *uuid);

/*
 * Does the parent's driver (NVIDIA's) remove its mdev by itself once it is closed? Removing it first can leave a zombie
 * until the host is booted again.
 */
bool kernel_driver_removes(const struct host *host, const char *parent);

/*
 * Writes `remove` and sees that the device is gone, retrying EAGAIN and EBUSY within `wait_ms`. One that is gone
 * already is no error.
 */
int kernel_remove(const struct host *host, const char *uuid, int wait_ms, struct err *err);

/*
 * Writes nvidia/vgpu_params: only on a device that is not open; the driver drops the last byte, so a newline follows.
 */
int kernel_set_params(const struct host *host, const char *uuid, const char *params, struct err *err);
