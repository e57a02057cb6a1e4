/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Serves the simulated tree as a file system through libfuse's low-level interface.
 *
 * One thread handles all requests in the order of the real kernel, so that a read sees an earlier close. A write that
 * must wait is kept as a request and needs no thread. As in the real sysfs, no signal ends this wait, and an operation
 * completes even if its writer is killed.
 *
 * The real kernel may cache the texts, listings and links of kept nodes (tree.h) forever, and opens files without
 * asking us. So a second read costs as much as in the real sysfs. The real kernel asks again for nodes that are passing
 * or vary. Device nodes are in a second file system, which is asked for each open.
 */
#pragma once

#include "base/err.h"
#include "sim/kernel.h"

#define SIM_FUSE_NAME "vgpu-lease-sim"
#define SIM_FUSE_SOURCE SIM_FUSE_NAME ":" /* followed by the PID in /proc/self/mountinfo */
#define SIM_FUSE_FILES ".kernel"          /* where the two file systems are mounted */
#define SIM_FUSE_DEVICES ".dev"

/* Mounts in `dir`, and serves until unmounted or ended by a signal. Calls `ready` once, when the mounts work. */
int sim_fuse_serve(struct sim_kernel *kernel, const char *dir, void (*ready)(void *arg), void *arg, struct err *err);
