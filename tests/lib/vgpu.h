/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* vGPUs as arguments, for tests that call the kernel's module. */
#pragma once

#include "act/kernel_write.h"

/* Good until a handful of further calls. */
static inline const struct vgpu_ref *vgpu_named(enum framework framework, const char *id, const char *type,
						const char *parent)
{
	static struct vgpu_ref ring[8];
	static size_t next;
	struct vgpu_ref *vgpu = &ring[next++ % 8];

	*vgpu = (struct vgpu_ref){ .framework = framework };
	text_copy(vgpu->id, sizeof(vgpu->id), id);
	text_copy(vgpu->type, sizeof(vgpu->type), type);
	text_copy(vgpu->parent, sizeof(vgpu->parent), parent);
	return vgpu;
}

#define MDEV(parent, type, uuid) vgpu_named(FW_MDEV, uuid, type, parent)
#define VARIANT(vf, type) vgpu_named(FW_VARIANT, vf, type, vf)
#define PLAIN_VF(vf) vgpu_named(FW_VF, vf, "flex", vf)

/* For inventory_read(): the types that matter, NULL for all with everything else that there is. */
#define MDEVS(ids) (&(const struct inv_query){ .frameworks = INV_MDEV, .types = ids })
#define EVERYTHING (&(const struct inv_query){ .frameworks = INV_ALL })
