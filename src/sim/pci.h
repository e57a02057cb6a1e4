/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* PCI devices, PFs and VFs: their sysfs attributes and their drivers. */
#pragma once

#include "sim/kernel.h"

enum { SIM_NODES = 2 };

/* The CPUs of each NUMA node, as in cpulist. */
extern const char *const sim_node_cpus[SIM_NODES];

/* Adds a device of this card: a directory with attributes, and the link to it. sim_pci_device_gone() removes it. */
struct sim_node *sim_pci_device(struct sim_gpu *gpu, const char *address);
void sim_pci_device_gone(struct sim_gpu *gpu, struct sim_node *dir);

/* Binds the device to this driver; NULL: unbinds it. */
void sim_pci_bind(struct sim_gpu *gpu, struct sim_node *dir, const char *driver);
