/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The directory that a simulated host lives in: what is made there before the mount, and how a host is found and ended.
 *
 *     DIR/.kernel           a mount: sys, proc, control; dev is a link to
 *     DIR/.dev              the other mount: vfio
 *     DIR/sys, proc, dev    links into it
 *     DIR/run, etc, var/lib plain directories
 */
#pragma once

#include <limits.h>

#include "base/err.h"

/* Makes what is missing of DIR; `full` becomes its full path. -EEXIST where a host lives there. */
int sim_directory_prepare(const char *dir, char full[PATH_MAX], struct err *err);

/*
 * Unmounts the host of DIR, whoever has files of it open, and waits until its process is gone; removes links and mount
 * point. -ENOENT where there is none.
 */
int sim_directory_stop(const char *dir, struct err *err);
