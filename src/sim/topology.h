/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The tree of a host at its start: cards, VFs, types, NUMA nodes, and the empty directories that mdevs will stand in.
 */
#pragma once

#include "sim/kernel.h"

/* Builds the host that kernel->spec describes. The tree is not settled yet. */
void sim_topology_build(struct sim_kernel *kernel);

/*
 * The driver registers a parent with the mdev core, as NVIDIA's does once its vgpud has run: types and the link in
 * class/mdev_bus appear; on a variant VF it is the files of its directory nvidia. Nothing happens where it is
 * registered. Unregistering removes the mdevs first; -EBUSY where one is open or on its way.
 */
void sim_topology_register(struct sim_parent *parent);
int sim_topology_unregister(struct sim_parent *parent);
