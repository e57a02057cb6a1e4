/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the tree shows of one mdev: its directory with the driver's attributes, and the links to and from it.
 */
#pragma once

#include "sim/kernel.h"

/* The directory and the link in bus/mdev/devices: the device is known, its driver was not asked yet. */
void sim_device_add(struct sim_mdev *mdev);

/* The links mdev_type, iommu_group and driver, and those back to the device. Its group is there already. */
void sim_device_link(struct sim_mdev *mdev);

/* All of these go, but for iommu_group: what is left while a removal waits. */
void sim_device_unlink(struct sim_mdev *mdev);

/* The capacity of a card has changed: so have all its available_instances, and the lists of its VFs. */
void sim_device_instances_changed(struct sim_gpu *gpu);

/*
 * A write to vgpu_params, of an mdev or (`uuid` NULL) of a VF: logged, and answered as late as the operator has set.
 * `refused`, a negative errno, is why the driver does not take it; 0: it does. What it leaves: NVIDIA's driver copies
 * with snprintf(params, count, "%s", buf), so that the last byte is lost.
 */
void sim_device_params(const struct sim_parent *parent, const struct sim_type *type, const char *uuid, int refused,
		       char params[SIM_PARAMS_MAX + 1], struct sim_write *write);

/* A write to its `remove`; in sim_mdev.c, as it is the removal. */
void sim_device_remove(struct sim_node *node, struct sim_write *write);
