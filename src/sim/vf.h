/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A VF that is a vGPU itself: its IOMMU group, and the driver that has it. With a vfio driver it has its nodes in
 * /dev/vfio, with a graphics driver a directory drm.
 */
#pragma once

#include "sim/kernel.h"

/* parent->vf, with its group; takes it away. */
void sim_vf_make(struct sim_parent *parent);
void sim_vf_free(struct sim_parent *parent);

/* Gives a VF, of whatever framework, to this driver, to none where it is NULL. */
void sim_vf_bind(struct sim_parent *parent, const char *driver);

/* What goes of one that is open, when its driver is to let go: all but the group and its node. */
void sim_vf_unbind_open(struct sim_parent *parent);

bool sim_vf_is_open(const struct sim_parent *parent);
