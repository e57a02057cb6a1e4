/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * NVIDIA's own VFIO framework: a VF becomes a vGPU when its number is written to nvidia/current_vgpu_type, and none
 * again with 0.
 *
 * A number: EPERM on a VF that has a type, also the same one; EIO for whatever the card refuses: no capacity, another
 * framebuffer size, no free GPU instance, an unknown number. While the driver is at it, the file reads 0, and the
 * capacity is taken. 0: EPERM without a type or while the VF is open; where vgpu-mgr holds on to it, EBUSY after five
 * seconds. EINVAL for what is no number.
 */
#pragma once

#include "sim/kernel.h"

/* The files of the directory nvidia. They go again; -EBUSY where the VF has a type. */
void sim_variant_register(struct sim_parent *parent);
int sim_variant_unregister(struct sim_parent *parent);
