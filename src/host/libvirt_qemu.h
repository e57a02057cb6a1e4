/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which processes are QEMUs of libvirt's, by what only root can write. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "sys/sys.h"

/* Those that libvirt has written down; the caller frees the list, which may be NULL. */
pid_t *libvirt_qemus(const struct host *host, size_t *n);

/* The domain whose QEMU this is, by what libvirt has written down; false: none's. */
bool libvirt_qemu_domain(const struct host *host, pid_t pid, char *name, size_t size);

/* Is the process that is called so in this /proc in the control group of a machine of QEMU's? */
bool libvirt_qemu_group(int proc, const char *pid);
