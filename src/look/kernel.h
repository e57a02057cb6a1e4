/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the kernel has now. kernel_exists() returns 0 for a plain VF, which is never created. */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "sys/sys.h"
#include "look/inventory.h"

/* Is sysfs read-only in libvirt's mount namespace, in which the hook runs? */
bool kernel_is_read_only(const struct host *host);

/* A reference with only the ID: an mdev for a UUID, else a VF that takes a type (FW_VARIANT). */
struct vgpu_ref kernel_vgpu(const char *id);

/* How many more vGPUs of the type the parent can create now; 0 or 1 for a VF. -ENOENT: no such parent or type. */
int kernel_available(const struct host *host, const struct vgpu_ref *vgpu, struct err *err);

/* Does the device exist? 1, 0, or a negative errno. A VF with another type is another device; type "" matches any. */
int kernel_exists(const struct host *host, const struct vgpu_ref *vgpu);
