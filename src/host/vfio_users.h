/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which process has a vGPU open. No attribute of the kernel says so; the descriptors of all tasks do (/proc/PID/fd).
 *
 * A vGPU is open when a task holds the character device of its IOMMU group or of its own vfio-dev. The device is told
 * by its number, which the kernel gives on both sides, never by a path: whoever has a mount namespace can give a file
 * any path, and a device node can have any number of them.
 *
 * What no table of descriptors shows is not seen: a descriptor on its way through a socket or kept by io_uring, a
 * mapping or a VFIO device that outlives the group's descriptor. A removal that meets one of these waits in the kernel
 * until the holder ends; see device/release.h.
 *
 * A process that cannot be looked into proves nothing, unless it is a QEMU of libvirt's: one whose pid libvirt has
 * written down, or that is in the control group of a machine. Both are root's to write. The former are looked at first,
 * then root's processes. Of any other user's, who can have as many as he likes, 256 descriptors are looked at,
 * for a quarter of the time that is left: one that has more counts as one that cannot be looked into.
 *
 * Opening the group to see whether it is busy would tell everything, but can make QEMU's own open fail.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/ident.h"
#include "sys/sys.h"
#include "model/vgpu.h"

struct vfio_users; /* one pass over all processes: the character devices that are open, and by whom */

/*
 * Looks at all processes, until `deadline_ms` (sys_now_ms()). Never NULL: what could not be seen, vfio_users_open()
 * says. vfio_users_free() takes NULL, too.
 */
struct vfio_users *vfio_users_read(const struct host *host, int64_t deadline_ms);
void vfio_users_free(struct vfio_users *users);

/* Names the processes of other users that were not looked into to the end; false: none. */
bool vfio_users_unread(const struct vfio_users *users, char text[REASON_SIZE]);

/*
 * Has a process the vGPU `id` (a UUID or a VF's address) open? 1 and the process in *pid (may be NULL); 0: none has, or
 * the device is gone. Negative where it is not known, which each caller decides upon: -ETIMEDOUT the pass did not come
 * to its end, the errno of a QEMU that could not be looked into, or of the device's own attributes.
 */
int vfio_users_open(const struct vfio_users *users, const struct host *host, const char *id, pid_t *pid,
		    struct err *err);
