/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The daemon that runs QEMU's domains, and its root directory.
 *
 * With Kolla or OpenStack-Helm libvirt runs in a container, which shares /run, /sys, /dev and the host's processes, and
 * has an /etc of its own. Its domains, hooks and mdevctl definitions are then not where the host's would be, and what
 * no file of the host names is not unused.
 */
#pragma once

#include <sys/types.h>

#include "sys/sys.h"

enum { LIBVIRT_COMM_SIZE = 16 };

/*
 * Its process, and name: libvirtd or virtqemud. 0: none runs, negative: not known. A file that is left over can name
 * another process: one counts only if root runs it under that name.
 */
pid_t libvirt_daemon(const struct host *host, char comm[LIBVIRT_COMM_SIZE]);

/*
 * Sets host->libvirt to the root directory of the daemon that runs now; to the host's where none runs, or only root may
 * look. For programs that are not the daemon's own children: the hook has its root, and AppArmor does not let it look.
 * A host below --root has no daemon.
 */
void libvirt_daemon_follow(struct host *host);
