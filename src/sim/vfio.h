/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * IOMMU groups and /dev/vfio: a group is made for each vGPU, one process at a time has it open, and the simulated /proc
 * shows which.
 */
#pragma once

#include "sim/kernel.h"

/*
 * Makes a group with the lowest free number, its directory, and what sim_vfio_attach() makes. `closed` is called with
 * it when the last process closes it. Removes all of it.
 */
struct sim_group *sim_vfio_group(struct sim_kernel *kernel, void *owner, void (*closed)(struct sim_group *));
void sim_vfio_group_free(struct sim_group *group);

/* The directories of the class, and the container, which belongs to no group. */
void sim_vfio_build(struct sim_kernel *kernel);

/* The nodes in /dev/vfio, with their numbers in sysfs, that are there while a vfio driver has the device. */
void sim_vfio_attach(struct sim_group *group);
void sim_vfio_detach(struct sim_group *group);

/* The vfio-dev/ of a device that is attached, in its directory: the number of its own node. */
void sim_vfio_device(struct sim_group *group, struct sim_node *dir);

/*
 * A process opens a node of /dev/vfio. `comm` and `start` are what its real /proc entry says. -EBUSY where the group is
 * open, -ENODEV where its device is gone or no vGPU yet: the real kernel says so a step later, to the ioctl that asks
 * for the device.
 */
int sim_vfio_open(struct sim_kernel *kernel, struct sim_node *node, pid_t pid, const char *comm, uint64_t start,
		  struct sim_handle **out);
void sim_vfio_close(struct sim_handle *handle);

/* How many milliseconds the vendor's own service holds on to what was closed; 0: not any more. */
long sim_vfio_busy_ms(const struct sim_group *group);
