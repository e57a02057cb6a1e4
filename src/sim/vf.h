/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A VF that is itself a vGPU: its IOMMU group and its driver. A vfio driver gives it nodes in /dev/vfio, and a graphics
 * driver gives it a directory drm.
 */
#pragma once

#include "sim/kernel.h"

/* Makes parent->vf with its group, or frees it. */
void sim_vf_make(struct sim_parent *parent);
void sim_vf_free(struct sim_parent *parent);

/* Binds a VF of any framework to this driver; NULL: unbinds it. */
void sim_vf_bind(struct sim_parent *parent, const char *driver);

/* Unbinds the driver of an open VF. The group and its node remain. */
void sim_vf_unbind_open(struct sim_parent *parent);

bool sim_vf_is_open(const struct sim_parent *parent);
