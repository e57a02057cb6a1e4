/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The tree of a host at its start: cards, VFs, types, NUMA nodes, and the empty directories for mdevs. */
#pragma once

#include "sim/kernel.h"

/* Builds the host that kernel->spec describes. The tree is not settled yet. */
void sim_topology_build(struct sim_kernel *kernel);

/*
 * Registers a parent with the mdev core, as NVIDIA's driver does once its vgpud has run: types and the link in
 * class/mdev_bus appear, or on a variant VF the files in its directory nvidia. Does nothing if it is registered.
 * Unregistering first removes the mdevs; -EBUSY: one is open or in progress.
 */
void sim_topology_register(struct sim_parent *parent);
int sim_topology_unregister(struct sim_parent *parent);
