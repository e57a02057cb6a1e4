/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What fits on a card: each driver's own rule, and the errno it refuses with.
 *
 *   NVIDIA  all vGPUs of a pGPU have one framebuffer size; so many of them as the type's max_instance says, over all
 *           VFs; a VF carries one. In mixed-size mode as many as the framebuffer takes. In MIG mode only MIG-backed
 *           types, each on a GPU instance of its own. EIO, whatever the reason.
 *   mtty    24 ports that the types share. ENOSPC.
 *   mbochs  256 MB that the types share. ENOSPC.
 *   mdpy    4 devices, whatever their type; mlx5_core likewise 16. EUSERS, by the mdev core itself.
 *   GVT-g   aperture and fences that the types share. ENOSPC.
 */
#pragma once

#include "sim/kernel.h"

/* How many more of the type this parent takes now: what available_instances shows. */
int sim_instances_available(const struct sim_parent *parent, const struct sim_type *type);

/* Takes the capacity for one; the driver's negative errno where there is none. Gives it back. */
int sim_instances_take(struct sim_parent *parent, const struct sim_type *type);
void sim_instances_give(struct sim_parent *parent, const struct sim_type *type);
