/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The mdev framework as of Linux 5.14 to 6.x: what a write to `create` or `remove` does, step by step.
 *
 * create: the device's directory and its link in bus/mdev come first, then the driver is asked (that is where time
 * passes, and where it may refuse: then both go again), then the links mdev_type, iommu_group and driver appear; only
 * then the write returns.
 *
 * remove: the links go at once; while the group is open the write waits, the directory stays with nothing but
 * iommu_group in it, the capacity stays taken and the UUID stays used; when it is closed the rest goes and the write
 * returns. While NVIDIA's vgpu-mgr holds on to a device that was closed, the write waits for up to five seconds and
 * fails with EBUSY, as it did up to Linux 5.1.
 */
#pragma once

#include "sim/kernel.h"

/* A write to the `create` of a type: EINVAL, EEXIST, ENODEV, or the driver's own errno. */
void sim_mdev_create(struct sim_parent *parent, const struct sim_type *type, struct sim_write *write);

/*
 * Removes all mdevs of a parent that are not open, as the driver does when it lets go of the parent; -EBUSY where some
 * stay.
 */
int sim_mdev_remove_all(struct sim_parent *parent);
