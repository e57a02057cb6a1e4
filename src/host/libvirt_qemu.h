/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which processes are QEMUs of libvirt, judged only by what root alone can write. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "sys/sys.h"

/* The pids that libvirt has recorded; the caller frees the list, which may be NULL. */
pid_t *libvirt_qemus(const struct host *host, size_t *n);

/* The domain that libvirt has recorded for this QEMU process; false: none. */
bool libvirt_qemu_domain(const struct host *host, pid_t pid, char *name, size_t size);

/* Is this process in the control group of a QEMU machine? `proc` is the descriptor of /proc. */
bool libvirt_qemu_group(int proc, const char *pid);
