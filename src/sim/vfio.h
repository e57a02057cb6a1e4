/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* IOMMU groups and /dev/vfio. One process at a time has a vGPU's group open, and the simulated /proc shows it. */
#pragma once

#include "sim/kernel.h"

/*
 * Makes a group with the lowest free number, its directory, and the nodes of sim_vfio_attach(). sim_vfio_group_free()
 * removes them. `closed` is called when the group is closed.
 */
struct sim_group *sim_vfio_group(struct sim_kernel *kernel, void *owner, void (*closed)(struct sim_group *));
void sim_vfio_group_free(struct sim_group *group);

/* Adds the directories of the class, and the container node /dev/vfio/vfio. */
void sim_vfio_build(struct sim_kernel *kernel);

/* Add and remove the nodes in /dev/vfio and their numbers in sysfs. They exist while a vfio driver has the device. */
void sim_vfio_attach(struct sim_group *group);
void sim_vfio_detach(struct sim_group *group);

/* Adds vfio-dev/vfioN/dev to the device's directory `dir`: the number of /dev/vfio/devices/vfioN. */
void sim_vfio_device(struct sim_group *group, struct sim_node *dir);

/*
 * Opens a node of /dev/vfio for a process; `comm` and `start` are from its real /proc entry. -EBUSY: the group is open.
 * -ENODEV: the device is gone or is not a vGPU yet. The real kernel returns this later, from the ioctl that requests
 * the device.
 */
int sim_vfio_open(struct sim_kernel *kernel, struct sim_node *node, pid_t pid, const char *comm, uint64_t start,
		  struct sim_handle **out);
void sim_vfio_close(struct sim_handle *handle);

/* The ms for which the vendor's service still uses a closed device; 0: not in use. */
long sim_vfio_busy_ms(const struct sim_group *group);
