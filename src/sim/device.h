/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* An mdev in the tree: its directory with the driver's attributes, and the links to and from it. */
#pragma once

#include "sim/kernel.h"

/* Adds the directory and the link in bus/mdev/devices: the device is known, but its driver has not been asked yet. */
void sim_device_add(struct sim_mdev *mdev);

/* Adds the driver's attributes, mdev_type, iommu_group, driver, and the links back. The group must exist. */
void sim_device_link(struct sim_mdev *mdev);

/* Removes what sim_device_add() and sim_device_link() add, except iommu_group, which stays while a removal waits. */
void sim_device_unlink(struct sim_mdev *mdev);

/* Reports that a card's capacity has changed, and with it available_instances and the type lists of its VFs. */
void sim_device_instances_changed(struct sim_gpu *gpu);

/*
 * Handles a write to vgpu_params of an mdev or (`uuid` NULL) of a VF: logs it, and answers after the delay that the
 * operator has set. `refused` is the negative errno with which the driver refuses it, or 0. NVIDIA's driver copies with
 * snprintf(params, count, "%s", buf), so that the last byte is lost.
 */
void sim_device_params(const struct sim_parent *parent, const struct sim_type *type, const char *uuid, int refused,
		       char params[SIM_PARAMS_MAX + 1], struct sim_write *write);

/* Handles a write to `remove`; defined in mdev.c, with the other removals. */
void sim_device_remove(struct sim_node *node, struct sim_write *write);
