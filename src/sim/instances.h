/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The capacity of a card: each driver's rule, and the errno with which the driver refuses.
 *
 *   NVIDIA  All vGPUs of a pGPU have one framebuffer size. A type's max_instance is the maximum over all VFs. A VF
 *           carries one vGPU. In mixed-size mode the framebuffer is the limit. In MIG mode only MIG-backed types fit,
 *           each on a GPU instance of its own. EIO for every reason.
 *   mtty    24 ports that the types share. ENOSPC.
 *   mbochs  256 MB that the types share. ENOSPC.
 *   mdpy    4 devices of any type; mlx5_core has 16. EUSERS, from the mdev core itself.
 *   GVT-g   Aperture and fences that the types share. ENOSPC.
 */
#pragma once

#include "sim/kernel.h"

/* The number of vGPUs of the type that the parent can still create, as shown by available_instances. */
int sim_instances_available(const struct sim_parent *parent, const struct sim_type *type);

/* Takes the capacity for one vGPU. Returns 0 or the driver's negative errno. sim_instances_give() releases it. */
int sim_instances_take(struct sim_parent *parent, const struct sim_type *type);
void sim_instances_give(struct sim_parent *parent, const struct sim_type *type);
