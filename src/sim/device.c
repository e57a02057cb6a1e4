/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Adds and removes an mdev's directory and links in the tree. */
#include "sim/device.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "sim/vfio.h"

static bool is_open(const struct sim_mdev *mdev)
{
	return mdev->group && mdev->group->holder;
}

static int uevent_show(const struct sim_node *node, FILE *out)
{
	const struct sim_mdev *mdev = node->owner;

	if (mdev->driver_link)
		fprintf(out, "DRIVER=%s\n", mdev->parent->gpu->item->model->vgpu_driver);
	return 0;
}

/* Drops the last byte, as NVIDIA's driver does. */
static ssize_t take_params(const struct sim_parent *parent, char params[SIM_PARAMS_MAX + 1],
			   const struct sim_write *write)
{
	int fails = sim_order_take(parent->gpu->kernel, "params", parent);

	if (fails)
		return -fails;
	if (write->len > SIM_PARAMS_MAX)
		return -E2BIG;
	if (write->len > 0)
		snprintf(params, write->len, "%s", write->data);
	return (ssize_t)write->len;
}

struct late {
	struct sim_timer timer;
	struct sim_write *write;
	ssize_t result;
};

static void params_end(void *arg)
{
	struct late *late = arg;

	sim_write_done(late->write, late->result);
	free(late);
}

void sim_device_params(const struct sim_parent *parent, const struct sim_type *type, const char *uuid, int refused,
		       char params[SIM_PARAMS_MAX + 1], struct sim_write *write)
{
	struct sim_kernel *kernel = parent->gpu->kernel;
	ssize_t result = refused ? refused : take_params(parent, params, write);
	long delay = sim_knob(parent->gpu, SIM_PARAMS_DELAY);
	struct late *late;

	sim_log(kernel, "params", parent, type, uuid, result < 0 ? (int)result : 0);
	if (delay <= 0) {
		sim_write_done(write, result);
		return;
	}
	late = mem_new(1, sizeof(*late));
	late->write = write;
	late->result = result;
	sim_timer_set(kernel, &late->timer, delay, params_end, late);
}

static void params_store(struct sim_node *node, struct sim_write *write)
{
	struct sim_mdev *mdev = node->owner;

	sim_device_params(mdev->parent, mdev->type, mdev->uuid, is_open(mdev) ? -EPERM : 0, mdev->params, write);
}

static int params_show(const struct sim_node *node, FILE *out)
{
	const struct sim_mdev *mdev = node->owner;

	fprintf(out, "%s\n", mdev->params);
	return 0;
}

/* vm_name shows the name of the process that has the device open, in place of the guest's name. */
static int vm_name_show(const struct sim_node *node, FILE *out)
{
	const struct sim_mdev *mdev = node->owner;

	fprintf(out, "%s\n", is_open(mdev) ? mdev->group->holder->process->comm : "");
	return 0;
}

static int vgpu_id_show(const struct sim_node *node, FILE *out)
{
	const struct sim_mdev *mdev = node->owner;

	fprintf(out, "%d\n", mdev->group ? mdev->group->number + 1 : 0);
	return 0;
}

static int sample_show(const struct sim_node *node, FILE *out)
{
	const struct sim_mdev *mdev = node->owner;

	fprintf(out, "This is MDEV %s\n", mdev->uuid);
	return 0;
}

static int memory_show(const struct sim_node *node, FILE *out)
{
	const struct sim_mdev *mdev = node->owner;

	fprintf(out, "%d MB\n", mdev->type->size);
	return 0;
}

static const struct sim_attr remove_attr = { .name = "remove", .mode = 0200, .store = sim_device_remove };
static const struct sim_attr uevent_attr = { .name = "uevent", .mode = 0444, .show = uevent_show };
static const struct sim_attr params_attr = {
	.name = "vgpu_params", .mode = 0644, .show = params_show, .store = params_store
};
static const struct sim_attr vm_name_attr = { .name = "vm_name", .mode = 0444, .show = vm_name_show };
static const struct sim_attr vgpu_id_attr = { .name = "vgpu_id", .mode = 0444, .show = vgpu_id_show };
static const struct sim_attr sample_attr = { .name = "sample_mdev_dev", .mode = 0444, .show = sample_show };

static const struct sim_attr memory_attr = { .name = "memory", .mode = 0444, .show = memory_show };

static struct sim_tree *tree_of(const struct sim_mdev *mdev)
{
	return &mdev->parent->gpu->kernel->tree;
}

static void driver_attrs(struct sim_mdev *mdev)
{
	struct sim_tree *tree = tree_of(mdev);
	struct sim_node *dir;

	switch (mdev->parent->gpu->item->model->family) {
	case SIM_NVIDIA:
		dir = sim_tree_dir(tree, mdev->dir, "nvidia", mdev);
		sim_tree_file(tree, dir, &params_attr, mdev);
		sim_tree_file(tree, dir, &vm_name_attr, mdev);
		break;
	case SIM_GVT:
		sim_tree_file(tree, sim_tree_dir(tree, mdev->dir, "intel_vgpu", mdev), &vgpu_id_attr, mdev);
		break;
	case SIM_MTTY:
		sim_tree_file(tree, sim_tree_dir(tree, mdev->dir, "vendor", mdev), &sample_attr, mdev);
		break;
	case SIM_MBOCHS:
		sim_tree_file(tree, sim_tree_dir(tree, mdev->dir, "vendor", mdev), &memory_attr, mdev);
		break;
	case SIM_COUNTED:
	case SIM_PLAIN:
		break;
	}
}

void sim_device_add(struct sim_mdev *mdev)
{
	struct sim_kernel *kernel = mdev->parent->gpu->kernel;
	struct sim_tree *tree = &kernel->tree;

	mdev->dir = sim_tree_dir(tree, mdev->parent->dir, mdev->uuid, mdev);
	sim_tree_file(tree, mdev->dir, &remove_attr, mdev);
	sim_tree_file(tree, mdev->dir, &uevent_attr, mdev);
	sim_tree_link(tree, mdev->dir, "subsystem", kernel->mdev_devices->parent);
	mdev->bus_link = sim_tree_link(tree, kernel->mdev_devices, mdev->uuid, mdev->dir);
}

void sim_device_link(struct sim_mdev *mdev)
{
	struct sim_kernel *kernel = mdev->parent->gpu->kernel;
	struct sim_tree *tree = &kernel->tree;
	struct sim_node *drivers = sim_tree_find(tree, kernel->mdev_devices->parent, "drivers");
	struct sim_node *driver = sim_tree_find(tree, drivers, mdev->parent->gpu->item->model->vgpu_driver);
	struct sim_node *type = mdev->parent->types ? sim_tree_find(tree, mdev->parent->types, mdev->type->id) : NULL;

	driver_attrs(mdev);
	sim_tree_link(tree, mdev->dir, "driver", driver);
	mdev->driver_link = sim_tree_link(tree, driver, mdev->uuid, mdev->dir);
	sim_tree_link(tree, mdev->dir, "iommu_group", mdev->group->dir);
	sim_vfio_device(mdev->group, mdev->dir);
	sim_tree_link(tree, sim_tree_dir(tree, mdev->group->dir, "devices", NULL), mdev->uuid, mdev->dir);
	if (!type)
		return;
	sim_tree_link(tree, mdev->dir, "mdev_type", type);
	mdev->type_link = sim_tree_link(tree, sim_tree_find(tree, type, "devices"), mdev->uuid, mdev->dir);
}

void sim_device_unlink(struct sim_mdev *mdev)
{
	struct sim_tree *tree = tree_of(mdev);
	struct sim_node *node = mdev->dir->first;

	while (node) {
		struct sim_node *next = node->next;

		if (strcmp(node->name, "iommu_group") != 0)
			sim_tree_remove(tree, node);
		node = next;
	}
	sim_tree_remove(tree, mdev->bus_link);
	sim_tree_remove(tree, mdev->type_link);
	sim_tree_remove(tree, mdev->driver_link);
	mdev->bus_link = mdev->type_link = mdev->driver_link = NULL;
	if (mdev->group) {
		sim_tree_remove(tree, mdev->group->device_dev);
		mdev->group->device_dev = NULL;
	}
}

void sim_device_instances_changed(struct sim_gpu *gpu)
{
	struct sim_tree *tree = &gpu->kernel->tree;

	for (int i = 0; i < gpu->nparents; i++) {
		const struct sim_node *types = gpu->parents[i].types;

		if (types && gpu->parents[i].vf)
			sim_tree_stale(tree, sim_tree_find(tree, types, "creatable_vgpu_types"));
		for (const struct sim_node *type = types ? types->first : NULL; type; type = type->next)
			if (type->kind == SIM_DIR)
				sim_tree_stale(tree, sim_tree_find(tree, type, "available_instances"));
	}
}
