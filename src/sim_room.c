/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What fits on a card: each driver's own rule, and the errno it refuses with. */
#include "sim_room.h"

#include <errno.h>

enum {
	MTTY_PORTS = 24,
	MDPY_DEVICES = 4,
	/* What GVT-g has to give, in MiB, on a machine with an aperture of 1 GiB, less the host's own share. */
	GVT_LOW = 1024 - 128,
	GVT_HIGH = 3072 - 384,
	GVT_FENCES = 32 - 4,
};

static int smaller(long a, long b)
{
	return (int)(a < b ? a : b);
}

static int nvidia_available(const struct sim_parent *parent, const struct sim_type *type)
{
	const struct sim_gpu *gpu = parent->gpu;
	long left = type->capacity - gpu->used;

	if ((gpu->used > 0 && gpu->size != type->size) || left < 0)
		left = 0;
	if (gpu->item->vfs > 0)
		return parent->held > 0 ? 0 : smaller(left, 1);
	return (int)left;
}

int sim_room_available(const struct sim_parent *parent, const struct sim_type *type)
{
	const struct sim_gpu *gpu = parent->gpu;

	switch (gpu->item->model->family) {
	case SIM_NVIDIA:
		return nvidia_available(parent, type);
	case SIM_MTTY:
		return (int)((MTTY_PORTS - gpu->used) / type->size);
	case SIM_MDPY:
		return (int)(MDPY_DEVICES - gpu->used);
	case SIM_GVT:
		return smaller(smaller((GVT_LOW - gpu->low) / type->low, (GVT_HIGH - gpu->high) / type->high),
			       (GVT_FENCES - gpu->fence) / type->fence);
	}
	return 0;
}

static int refusal(enum sim_family family)
{
	switch (family) {
	case SIM_NVIDIA:
		return -EIO;
	case SIM_MDPY:
		return -EUSERS;
	case SIM_MTTY:
	case SIM_GVT:
		break;
	}
	return -ENOSPC;
}

static void account(struct sim_parent *parent, const struct sim_type *type, int sign)
{
	struct sim_gpu *gpu = parent->gpu;

	parent->held += sign;
	gpu->used += (long)sign * (gpu->item->model->family == SIM_MTTY ? type->size : 1);
	gpu->low += (long)sign * type->low;
	gpu->high += (long)sign * type->high;
	gpu->fence += (long)sign * type->fence;
	gpu->size = type->size;
}

int sim_room_take(struct sim_parent *parent, const struct sim_type *type)
{
	if (sim_room_available(parent, type) <= 0)
		return refusal(parent->gpu->item->model->family);
	account(parent, type, 1);
	return 0;
}

void sim_room_give(struct sim_parent *parent, const struct sim_type *type)
{
	account(parent, type, -1);
}
