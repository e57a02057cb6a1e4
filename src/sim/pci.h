/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * PCI devices, PFs and VFs: what sysfs shows of them, and which driver has them.
 */
#pragma once

#include "sim/kernel.h"

enum { SIM_NODES = 2 }; /* of the host's memory */

/* The CPUs of each node, as a list. */
extern const char *const sim_node_cpus[SIM_NODES];

/* Makes the directory of a device of this card, with its attributes, and the link to it; takes it away. */
struct sim_node *sim_pci_device(struct sim_gpu *gpu, const char *address);
void sim_pci_device_gone(struct sim_gpu *gpu, struct sim_node *dir);

/* Gives the device to this driver, to none where it is NULL. */
void sim_pci_bind(struct sim_gpu *gpu, struct sim_node *dir, const char *driver);
