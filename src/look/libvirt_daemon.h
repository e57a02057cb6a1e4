/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Finds libvirt's daemon, the daemon's root directory, and the QEMUs that libvirt runs. Trusts only files that only
 * root can write.
 *
 * Kolla and OpenStack-Helm run libvirt in a container, which shares /run, /sys, /dev and processes with the host, but
 * has its own /etc. The definitions of domains and mdevs are then in the container, and not in the host's /etc.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "sys/sys.h"

enum { LIBVIRT_COMM_SIZE = 16 };

/*
 * Returns the daemon's pid, and sets `comm` to its name, libvirtd or virtqemud. 0: no daemon runs; negative: not known.
 * A pid file can be stale, so a process counts only if root runs it under one of these names.
 */
pid_t libvirt_daemon(const struct host *host, char comm[LIBVIRT_COMM_SIZE]);

/* The age of this process, in microseconds. */
int64_t libvirt_age_us(pid_t pid);

/* Did the running daemon start after this time (sys_now_ms())? False if the time is 0 or no daemon runs. */
bool libvirt_is_younger(const struct host *host, int64_t than_ms);

/*
 * Sets host->libvirt to the root directory of the running daemon. If no daemon runs or permission is denied, sets it to
 * the host's root. The hook must not call this: it already runs in the daemon's root, and AppArmor would deny the
 * access. A host below --root has no daemon.
 */
void libvirt_daemon_follow(struct host *host);

/* The pid in a pid file; 0: not a pid; negative: the errno of the read. */
pid_t libvirt_read_pid(int dir, const char *path);

/* A QEMU for which libvirt has a pid file. A long domain name is cut. */
struct libvirt_qemu {
	pid_t pid;
	char domain[64];
};

/* Lists the QEMUs for which libvirt has a pid file. The caller frees the list, which may be NULL. */
struct libvirt_qemu *libvirt_qemus(const struct host *host, size_t *n);

/* Is this process in the control group of a QEMU machine? `proc` is a descriptor of /proc. */
bool libvirt_qemu_group(int proc, const char *pid);
