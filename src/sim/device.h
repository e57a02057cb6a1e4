/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* An mdev in the tree: its directory with the driver's attributes, and the links to and from it. */
#pragma once

#include "sim/kernel.h"

/* Adds the directory and the link in bus/mdev/devices. The driver has not been asked yet. */
void sim_device_add(struct sim_mdev *mdev);

/* Adds the driver's attributes, and the links mdev_type, iommu_group and driver. The group must exist. */
void sim_device_link(struct sim_mdev *mdev);

/* Removes what sim_device_add() and sim_device_link() add, except iommu_group, which stays while a removal waits. */
void sim_device_unlink(struct sim_mdev *mdev);

/* Reports that a card's capacity has changed, so that cached texts about it are read again. */
void sim_device_instances_changed(struct sim_gpu *gpu);

/*
 * Handles a write to vgpu_params of an mdev, or of a VF if `uuid` is NULL. Logs the write, and answers after the delay
 * that the operator has set. `refused`: the negative errno with which the driver refuses the write, or 0. NVIDIA's
 * driver copies with snprintf(params, count, "%s", buf), so the last byte is lost.
 */
void sim_device_params(const struct sim_parent *parent, const struct sim_type *type, const char *uuid, int refused,
		       char params[SIM_PARAMS_MAX + 1], struct sim_write *write);

/* Handles a write to `remove`. Defined in mdev.c. */
void sim_device_remove(struct sim_node *node, struct sim_write *write);
