/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Shows the simulated tree as a file system, by libfuse's low-level interface.
 *
 * One thread does everything in the order in which the real kernel asks: a close that was made before a read is seen by
 * it. A write that has to wait keeps only its request; no signal ends that wait, as in the real sysfs, and what was
 * begun is completed even if the writer is killed.
 *
 * What never changes is handed out to be cached for good, folder listings and link texts included; what is passing
 * or varies is asked for each time.
 *
 * Depends on: err, host, file, sim_kernel, sim_vfio, sim_mdev.
 */
#pragma once

#include "err.h"
#include "sim_kernel.h"

/*
 * Mounts at the folder `where` and serves until it is unmounted or a signal ends it. `ready` is called once, when
 * the mount answers. The mount's source in /proc/self/mountinfo is SIM_FUSE_SOURCE and the process's number.
 */
int sim_fuse_serve(struct sim_kernel *kernel, const char *where, void (*ready)(void *arg), void *arg, struct err *err);

#define SIM_FUSE_NAME "vgpu-lease-sim"
#define SIM_FUSE_SOURCE SIM_FUSE_NAME ":"
