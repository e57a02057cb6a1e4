/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Finds libvirt's processes: the daemon that runs QEMU's domains, with its root directory, and the QEMUs. Relies only
 * on what root alone can write.
 *
 * Kolla and OpenStack-Helm run libvirt in a container, which shares /run, /sys, /dev and the host's processes, but has
 * its own /etc. Domains, hooks and mdevctl definitions are then in the container, so a device that no file of the host
 * names may still be in use.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "sys/sys.h"

enum { LIBVIRT_COMM_SIZE = 16 };

/*
 * The daemon's pid, and its name (libvirtd or virtqemud) in `comm`; 0: none runs; negative: not known. A pid file can
 * be stale, so a process counts only if root runs it under one of these names.
 */
pid_t libvirt_daemon(const struct host *host, char comm[LIBVIRT_COMM_SIZE]);

/* How long ago this process started, in microseconds. */
int64_t libvirt_age_us(pid_t pid);

/* Did the running daemon start after this time (sys_now_ms())? False if the time is 0 or no daemon runs. */
bool libvirt_is_younger(const struct host *host, int64_t than_ms);

/*
 * Sets host->libvirt to the root directory of the running daemon, or to the host's if none runs or permission is
 * denied. Only for programs that are not children of the daemon: the hook has the daemon's root already, and AppArmor
 * would deny it access. A host below --root has no daemon.
 */
void libvirt_daemon_follow(struct host *host);

/* The pid in a pid file; 0: not a pid; negative: the errno of the read. */
pid_t libvirt_read_pid(int dir, const char *path);

/* A QEMU that libvirt has recorded, and the name of its domain, cut to fit. */
struct libvirt_qemu {
	pid_t pid;
	char domain[64];
};

/* Lists these QEMUs; the caller frees the list, which may be NULL. */
struct libvirt_qemu *libvirt_qemus(const struct host *host, size_t *n);

/* Is this process in the control group of a QEMU machine? `proc` is the descriptor of /proc. */
bool libvirt_qemu_group(int proc, const char *pid);
