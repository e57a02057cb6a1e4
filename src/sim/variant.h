/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * NVIDIA's own VFIO framework. A write of a type's number to nvidia/current_vgpu_type makes the VF a vGPU, and a write
 * of 0 clears the type. Until the driver is done, the file reads 0, and the capacity is taken.
 *
 * A number fails with EPERM if the VF has a type. It fails with EIO if the card refuses it: no capacity, another
 * framebuffer size, no free GPU instance, an unknown number. 0 fails with EPERM if the VF has no type or is open. 0
 * fails with EBUSY after five seconds if vgpu-mgr still uses the VF. Other words fail with EINVAL.
 */
#pragma once

#include "sim/kernel.h"

/* Adds the files in the directory nvidia. sim_variant_unregister() returns -EBUSY if the VF has a type. */
void sim_variant_register(struct sim_parent *parent);
int sim_variant_unregister(struct sim_parent *parent);
