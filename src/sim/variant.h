/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * NVIDIA's own VFIO framework: a VF becomes a vGPU when a type's number is written to nvidia/current_vgpu_type; 0
 * clears it.
 *
 * A number fails with EPERM on a VF that has a type, even this type, and with EIO for whatever the card refuses: no
 * capacity, another framebuffer size, no free GPU instance, an unknown number. Until the driver is done, the file reads
 * 0, and the capacity is taken. 0 fails with EPERM without a type or while the VF is open, and with EBUSY after five
 * seconds if vgpu-mgr still uses the VF. Anything that is not a number fails with EINVAL.
 */
#pragma once

#include "sim/kernel.h"

/* Add the files in the directory nvidia, and check whether they may be removed. -EBUSY: the VF has a type. */
void sim_variant_register(struct sim_parent *parent);
int sim_variant_unregister(struct sim_parent *parent);
