/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Counts the capacity of a card by its driver's rules. */
#include "sim/instances.h"

#include <errno.h>
#include <string.h>

enum {
	/* GVT-g's high graphics memory in MiB and its fences, without the host's share */
	GVT_HIGH = 3072 - 384,
	GVT_FENCES = 32 - 4,
};

static int smaller(long a, long b)
{
	return (int)(a < b ? a : b);
}

/* Finds the free GPU instance with the lowest number that fits a MIG-backed type; NULL: none. */
static struct sim_instance *instance_for(struct sim_gpu *gpu, const struct sim_type *type)
{
	for (int i = 0; i < gpu->ninstances; i++)
		if (!gpu->instances[i].taken && strcmp(gpu->instances[i].profile, type->instance) == 0)
			return &gpu->instances[i];
	return NULL;
}

static int instances_left(const struct sim_gpu *gpu, const struct sim_type *type)
{
	int left = 0;

	for (int i = 0; i < gpu->ninstances; i++)
		left += !gpu->instances[i].taken && strcmp(gpu->instances[i].profile, type->instance) == 0;
	return left;
}

/* gpu->used counts vGPUs, and gpu->size is their total framebuffer. */
static long nvidia_left(const struct sim_gpu *gpu, const struct sim_type *type)
{
	const struct sim_model *model = gpu->item->model;
	long left = type->capacity - gpu->used;

	if (gpu->is_mig != !!type->instance)
		return 0;
	if (gpu->is_mig)
		return instances_left(gpu, type);
	if (gpu->is_mixed)
		return smaller(model->instances_max - gpu->used,
			       (model->framebuffer_gib * 1024L - gpu->size) / type->size);
	return gpu->used == 0 || gpu->size == gpu->used * type->size ? left : 0;
}

static int nvidia_available(const struct sim_parent *parent, const struct sim_type *type)
{
	long left = nvidia_left(parent->gpu, type);

	if (left < 0)
		left = 0;
	if (parent->gpu->item->vfs > 0)
		return parent->held > 0 ? 0 : smaller(left, 1);
	return (int)left;
}

int sim_instances_available(const struct sim_parent *parent, const struct sim_type *type)
{
	const struct sim_gpu *gpu = parent->gpu;
	const struct sim_model *model = gpu->item->model;

	switch (model->family) {
	case SIM_NVIDIA:
		return nvidia_available(parent, type);
	case SIM_MTTY:
	case SIM_MBOCHS:
	case SIM_COUNTED:
		return (int)((model->shared - gpu->size) / type->size);
	case SIM_GVT:
		return smaller(smaller((model->shared - gpu->low) / type->low, (GVT_HIGH - gpu->high) / type->high),
			       (GVT_FENCES - gpu->fence) / type->fence);
	case SIM_PLAIN:
		break;
	}
	return 0;
}

static int refusal(enum sim_family family)
{
	switch (family) {
	case SIM_NVIDIA:
		return -EIO;
	case SIM_COUNTED:
		return -EUSERS;
	case SIM_MTTY:
	case SIM_MBOCHS:
	case SIM_GVT:
	case SIM_PLAIN:
		break;
	}
	return -ENOSPC;
}

static void account(struct sim_parent *parent, const struct sim_type *type, int sign)
{
	struct sim_gpu *gpu = parent->gpu;

	parent->held += sign;
	gpu->used += sign;
	gpu->low += (long)sign * type->low;
	gpu->high += (long)sign * type->high;
	gpu->fence += (long)sign * type->fence;
	gpu->size += (long)sign * type->size;
}

int sim_instances_take(struct sim_parent *parent, const struct sim_type *type)
{
	struct sim_instance *instance = type->instance ? instance_for(parent->gpu, type) : NULL;

	if (sim_instances_available(parent, type) <= 0)
		return refusal(parent->gpu->item->model->family);
	account(parent, type, 1);
	if (instance) {
		instance->taken = true;
		parent->instance = instance->id;
	}
	return 0;
}

void sim_instances_give(struct sim_parent *parent, const struct sim_type *type)
{
	struct sim_gpu *gpu = parent->gpu;

	account(parent, type, -1);
	for (int i = 0; type->instance && i < gpu->ninstances; i++)
		if (gpu->instances[i].id == parent->instance)
			gpu->instances[i].taken = false;
}
