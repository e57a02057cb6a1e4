/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Finds the process that has a vGPU open, by the descriptors of all tasks (/proc/PID/fd). The descriptor is that of the
 * character device of the vGPU's IOMMU group, or of the vGPU's own vfio-dev.
 *
 * Some uses appear in no descriptor table: a descriptor in transit through a socket or kept by io_uring, or a mapping
 * or VFIO device that outlives the group's descriptor. A removal then waits in the kernel until the user ends
 * (act/release.h).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "sys/sys.h"
#include "model/vgpu.h"

struct vfio_users;

/* Inspects all processes until `deadline_ms`. Never NULL: vfio_users_open() reports what was missed. */
struct vfio_users *vfio_users_read(const struct host *host, int64_t deadline_ms);
void vfio_users_free(struct vfio_users *users);

/* Names the processes of other users that were not fully inspected; "": none. */
void vfio_users_unread(const struct vfio_users *users, char text[REASON_SIZE]);

/*
 * Does a process have the vGPU `id` (a UUID or a VF's address) open? The caller decides what an error means. Returns:
 *   1: yes; the process is in *pid (may be NULL)
 *   0: no, or the device is gone
 *   -ETIMEDOUT: the scan did not finish
 *   other: /proc, a QEMU or the device's own attributes could not be read, or `id` is invalid (-EINVAL)
 */
int vfio_users_open(const struct vfio_users *users, const struct host *host, const char *id, pid_t *pid,
		    struct err *err);

/* The domain of this QEMU, from libvirt's pid files; NULL: none. */
const char *vfio_users_domain(const struct vfio_users *users, pid_t pid);

/* Does a process have a render node of this VF open? If so, the host uses the VF as a GPU. False also if not known. */
bool vfio_users_render(const struct vfio_users *users, const struct host *host, const char *vf);
