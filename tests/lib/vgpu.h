/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* vGPUs as arguments, for tests that call the kernel's module. */
#pragma once

#include "device/kernel.h"

#define MDEV(parent, type, uuid) (&(const struct vgpu){ FW_MDEV, uuid, parent, type })
#define VARIANT(vf, type) (&(const struct vgpu){ FW_VARIANT, vf, vf, type })
#define PLAIN_VF(vf) (&(const struct vgpu){ FW_VF, vf, vf, "flex" })

/* For inventory_read(): the types that matter, NULL for all with everything else that there is. */
#define MDEVS(ids) (&(const struct inv_query){ .frameworks = INV_MDEV, .types = ids })
#define EVERYTHING (&(const struct inv_query){ .frameworks = INV_ALL })
