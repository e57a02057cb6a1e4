/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Who has a vGPU open. No attribute of the kernel says so; the descriptors of all processes do (/proc/PID/fd).
 *
 * A device counts as open when a process holds /dev/vfio/GROUP of its iommu_group, or /dev/vfio/devices/vfioN of its
 * vfio-dev. It fails closed: a table of descriptors that cannot be read for another reason than that its process is
 * gone means "cannot tell". Opening the group to see whether it is busy would tell, too, but can make QEMU's own open
 * fail.
 *
 * Depends on: err, host, file. Knows nothing of leases or libvirt.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "err.h"
#include "host.h"
#include "ident.h"

struct handles; /* one pass over all processes: the VFIO nodes that are open, and by whom */

/* -EACCES and others: some process could not be looked into; nothing may be taken for closed then. */
int handles_read(struct handles **out, const struct host *host, struct err *err);
void handles_free(struct handles *handles);

/*
 * Does anybody hold the vGPU `id` (a UUID or a VF's address) open? 1 and the process in *pid (may be NULL), 0, or a
 * negative errno where the device's nodes cannot be told (gone: 0).
 */
int handles_open(const struct handles *handles, const struct host *host, const char *id, pid_t *pid, struct err *err);
