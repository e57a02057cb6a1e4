/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Shows the simulated tree as a file system, by libfuse's low-level interface.
 *
 * One thread does everything in the order in which the real kernel asks: a close that was made before a read is seen by
 * it. A write that has to wait keeps only its request; no signal ends that wait, as in the real sysfs, and what was
 * begun is completed even if the writer is killed.
 *
 * What is kept (see sim_tree) is handed out to be cached for good, texts, listings and links included, and files are
 * opened without asking: reading again costs what it costs in the real sysfs. What is passing or varies is asked for
 * each time. As device nodes have to be opened by asking, they are a file system of their own.
 */
#pragma once

#include "base/err.h"
#include "sim/kernel.h"

#define SIM_FUSE_NAME "vgpu-lease-sim"
#define SIM_FUSE_SOURCE SIM_FUSE_NAME ":" /* and the process's number: the source in /proc/self/mountinfo */
#define SIM_FUSE_FILES ".kernel"          /* where the two file systems are mounted */
#define SIM_FUSE_DEVICES ".dev"

/*
 * Mounts in the directory `dir` and serves until it is unmounted or a signal ends it. `ready` is called once, when the
 * mounts answer.
 */
int sim_fuse_serve(struct sim_kernel *kernel, const char *dir, void (*ready)(void *arg), void *arg, struct err *err);
