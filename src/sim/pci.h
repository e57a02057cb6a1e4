/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* PCI devices, PFs and VFs: their sysfs attributes and their drivers. */
#pragma once

#include "sim/kernel.h"

enum { SIM_NODES = 2 }; /* the host's NUMA nodes */

/* The CPUs of each NUMA node, as a list. */
extern const char *const sim_node_cpus[SIM_NODES];

/* Add or remove a device of this card: its directory with the attributes, and the link to the directory. */
struct sim_node *sim_pci_device(struct sim_gpu *gpu, const char *address);
void sim_pci_device_gone(struct sim_gpu *gpu, struct sim_node *dir);

/* Binds the device to this driver; NULL: unbinds it. */
void sim_pci_bind(struct sim_gpu *gpu, struct sim_node *dir, const char *driver);
