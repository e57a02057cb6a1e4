/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The tree of a host at its start: cards, VFs, types, NUMA nodes, and the empty directories for mdevs. */
#pragma once

#include "sim/kernel.h"

/* Builds the host that kernel->spec describes. sim_tree_settle() is still to be called. */
void sim_topology_build(struct sim_kernel *kernel);

/*
 * Registers a parent, as NVIDIA's driver does after vgpud has run. The types and the link in class/mdev_bus appear; for
 * a variant VF, the files in its directory nvidia appear. Does nothing for a registered parent. Unregistering first
 * removes the mdevs; -EBUSY: an mdev is open or in progress.
 */
void sim_topology_register(struct sim_parent *parent);
int sim_topology_unregister(struct sim_parent *parent);
