/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Serves the simulated tree as a file system through libfuse's low-level interface.
 *
 * One thread handles everything in the order of the real kernel's requests, so that a read sees an earlier close. A
 * write that must wait is only kept as a request, without a thread. As in the real sysfs, no signal ends that wait, and
 * an operation that has begun is completed even if the writer is killed.
 *
 * The real kernel may cache the texts, listings and links of kept nodes (see sim/tree.h) forever, and opens files
 * without asking us. So a second read costs what it costs in the real sysfs. For a node that is passing or varies, it
 * asks us each time. Device nodes must be opened by asking us, so they are in a separate file system.
 */
#pragma once

#include "base/err.h"
#include "sim/kernel.h"

#define SIM_FUSE_NAME "vgpu-lease-sim"
#define SIM_FUSE_SOURCE SIM_FUSE_NAME ":" /* followed by the PID: the source in /proc/self/mountinfo */
#define SIM_FUSE_FILES ".kernel"          /* where the two file systems are mounted */
#define SIM_FUSE_DEVICES ".dev"

/* Mounts in `dir`, and serves until unmounted or ended by a signal. Calls `ready` once, when the mounts answer. */
int sim_fuse_serve(struct sim_kernel *kernel, const char *dir, void (*ready)(void *arg), void *arg, struct err *err);
