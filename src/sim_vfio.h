/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * IOMMU groups and /dev/vfio: a group is made for each mdev, one process at a time has it open, and the simulated /proc
 * shows which.
 *
 * Depends on: sim_kernel. Knows nothing of what a group's device is; who owns it is told when it is closed.
 */
#pragma once

#include "sim_kernel.h"

/* Makes the group of an mdev, with the lowest free number, its folder and its node. Removes it. */
struct sim_group *sim_vfio_group(struct sim_kernel *kernel, struct sim_mdev *mdev);
void sim_vfio_group_free(struct sim_group *group);

/*
 * A process opens a node of /dev/vfio. `comm` and `start` are what its real /proc entry says. -EBUSY where the group is
 * open, -ENODEV where its device is gone.
 */
int sim_vfio_open(struct sim_kernel *kernel, struct sim_node *node, pid_t pid, const char *comm, uint64_t start,
		  struct sim_handle **out);

/* Closes it. Returns the group that nobody has open any more, NULL for the container. */
struct sim_group *sim_vfio_close(struct sim_handle *handle);
