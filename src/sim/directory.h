/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Prepares the directory of a simulated host for the mounts, and finds and stops the host.
 *
 *     DIR/.kernel           a mount: sys, proc, control, and dev, a link to DIR/.dev
 *     DIR/.dev              the other mount: vfio
 *     DIR/sys, proc, dev    links into DIR/.kernel
 *     DIR/run, etc, var/lib plain directories
 */
#pragma once

#include <limits.h>

#include "base/err.h"

/* Creates what is missing in DIR, and sets `full` to its path. -EEXIST: a host runs in DIR, or a link's name exists. */
int sim_directory_prepare(const char *dir, char full[PATH_MAX], struct err *err);

/*
 * Unmounts the host of DIR even if its files are open, waits for its process to end, and removes links and mount
 * points. -ENOENT: no host runs in DIR.
 */
int sim_directory_stop(const char *dir, struct err *err);
