/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The mdev framework of Linux 5.14 to 6.x: what a write to `create` or `remove` does, step by step.
 *
 * create: The device's directory and its link in bus/mdev appear. Then the driver is asked, which takes time. If the
 * driver refuses, both disappear again. If not, the links mdev_type, iommu_group and driver appear, and the write
 * returns.
 *
 * remove: The links disappear at once. While the group is open, the write waits, the directory keeps only iommu_group,
 * and the capacity and the UUID stay in use. After the close the rest disappears, and the write returns. If NVIDIA's
 * vgpu-mgr still uses a closed device, the write waits up to five seconds, and then fails with EBUSY, as it did up to
 * Linux 5.1.
 */
#pragma once

#include "sim/kernel.h"

/* Handles a write to a type's `create`. Errors: EINVAL, EEXIST, or the driver's own errno. */
void sim_mdev_create(struct sim_parent *parent, const struct sim_type *type, struct sim_write *write);

/* Removes a parent's mdevs, as its driver does to unregister. -EBUSY: an mdev is open or in progress; removes none. */
int sim_mdev_remove_all(struct sim_parent *parent);
