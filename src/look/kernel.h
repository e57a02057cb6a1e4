/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the kernel has now. */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "sys/sys.h"
#include "look/inventory.h"

/* Is sysfs read-only in libvirt's mount namespace, in which the hook runs? */
bool kernel_is_read_only(const struct host *host);

/* Makes a reference from an ID alone: a UUID means an mdev, an address means a VF that takes a type (FW_VARIANT). */
struct vgpu_ref kernel_vgpu(const char *id);

/*
 * How many more vGPUs of the type the parent can create now; at most 1 for a VF. -ENOENT: no such parent or type;
 * -EINVAL: an invalid name or count; -ETIMEDOUT: the driver does not answer; other: the errno of the read.
 */
int kernel_available(const struct host *host, const struct vgpu_ref *vgpu, struct err *err);

/*
 * Does the vGPU exist? 1: yes; 0: no, it has another type than vgpu->type ("": any), or it is a plain VF; -ETIMEDOUT:
 * the driver does not answer; other: the errno of the read. Only the type of a VF is compared.
 */
int kernel_exists(const struct host *host, const struct vgpu_ref *vgpu);
