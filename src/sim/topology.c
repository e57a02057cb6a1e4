/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Builds the tree of a host. */
#include "sim/topology.h"

#include <string.h>

#include "base/mem.h"
#include "sim/mdev.h"
#include "sim/pci.h"
#include "sim/instances.h"
#include "sim/sriov.h"
#include "sim/variant.h"
#include "sim/vfio.h"

/*
 * The type of a file in a type's directory. The file's `owner` is its sim_parent, so the type is the `owner` of the
 * directory.
 */
static const struct sim_type *type_of(const struct sim_node *node)
{
	return node->parent->owner;
}

static int type_name_show(const struct sim_node *node, FILE *out)
{
	fprintf(out, "%s\n", type_of(node)->name);
	return 0;
}

static int type_description_show(const struct sim_node *node, FILE *out)
{
	fprintf(out, "%s\n", type_of(node)->description);
	return 0;
}

static int type_api_show(const struct sim_node *node, FILE *out)
{
	(void)node;
	fputs("vfio-pci\n", out);
	return 0;
}

static int type_available_show(const struct sim_node *node, FILE *out)
{
	fprintf(out, "%d\n", sim_instances_available(node->owner, type_of(node)));
	return 0;
}

static void type_create_store(struct sim_node *node, struct sim_write *write)
{
	sim_mdev_create(node->owner, type_of(node), write);
}

static const struct sim_attr type_name = { .name = "name", .mode = 0444, .kept = true, .show = type_name_show };
static const struct sim_attr type_description = {
	.name = "description", .mode = 0444, .kept = true, .show = type_description_show
};
static const struct sim_attr type_api = { .name = "device_api", .mode = 0444, .kept = true, .show = type_api_show };
static const struct sim_attr type_available = {
	.name = "available_instances", .mode = 0444, .kept = true, .show = type_available_show
};
static const struct sim_attr type_create = { .name = "create", .mode = 0200, .store = type_create_store };

void sim_topology_register(struct sim_parent *parent)
{
	struct sim_kernel *kernel = parent->gpu->kernel;
	const struct sim_item *item = parent->gpu->item;
	struct sim_tree *tree = &kernel->tree;

	if (parent->types || item->model->framework == SIM_FW_VF)
		return;
	if (item->model->framework == SIM_FW_VARIANT) {
		sim_variant_register(parent);
		return;
	}
	parent->types = sim_tree_dir(tree, parent->dir, "mdev_supported_types", NULL);
	for (int i = 0; i < item->ntypes; i++) {
		const struct sim_type *type = &item->types[i];
		struct sim_node *dir = sim_tree_dir(tree, parent->types, type->id, (void *)(uintptr_t)type);

		sim_tree_file(tree, dir, &type_create, parent);
		sim_tree_file(tree, dir, &type_available, parent);
		sim_tree_file(tree, dir, &type_api, parent);
		if (*type->name)
			sim_tree_file(tree, dir, &type_name, parent);
		if (*type->description)
			sim_tree_file(tree, dir, &type_description, parent);
		sim_tree_dir(tree, dir, "devices", NULL);
	}
	parent->bus_link = sim_tree_link(tree, kernel->mdev_bus, parent->name, parent->dir);
}

int sim_topology_unregister(struct sim_parent *parent)
{
	struct sim_tree *tree = &parent->gpu->kernel->tree;
	int r;

	if (!parent->types)
		return 0;
	r = parent->vf ? sim_variant_unregister(parent) : sim_mdev_remove_all(parent);
	if (r < 0)
		return r;
	sim_tree_remove(tree, parent->bus_link);
	sim_tree_remove(tree, parent->types);
	parent->types = parent->bus_link = NULL;
	return 0;
}

static struct sim_node *virtual_device(struct sim_kernel *kernel, struct sim_gpu *gpu)
{
	struct sim_tree *tree = &kernel->tree;
	struct sim_node *dir, *class;
	char path[PARENT_SIZE * 2 + 32];

	snprintf(path, sizeof(path), "devices/virtual/%s/%s", gpu->item->model->driver, gpu->name);
	dir = sim_tree_dir(tree, kernel->sys, path, gpu);
	snprintf(path, sizeof(path), "class/%s", gpu->item->model->driver);
	class = sim_tree_dir(tree, kernel->sys, path, NULL);
	sim_tree_link(tree, dir, "subsystem", class);
	sim_tree_link(tree, class, gpu->name, dir);
	return dir;
}

static void gpu_build(struct sim_kernel *kernel, struct sim_gpu *gpu, const struct sim_item *item, int number)
{
	const struct sim_model *model = item->model;
	struct sim_tree *tree = &kernel->tree;

	gpu->kernel = kernel;
	gpu->item = item;
	gpu->number = number;
	gpu->numa_node = model->cards_max > 1 ? number % 2 : -1;
	for (int i = 0; i < SIM_KNOBS; i++)
		gpu->knobs[i] = -1;
	gpu->parents = mem_new(1, (size_t)(item->vfs > 0 ? item->vfs : 1) * sizeof(gpu->parents[0]));
	sim_model_address(gpu->name, item, number, -1);
	gpu->dir = model->vendor ? sim_pci_device(gpu, gpu->name) : virtual_device(kernel, gpu);
	if (model->vendor)
		sim_pci_bind(gpu, gpu->dir, model->driver);
	if (model->framework == SIM_FW_MDEV) {
		struct sim_node *drivers = sim_tree_dir(tree, kernel->mdev_devices->parent, "drivers", NULL);

		sim_tree_dir(tree, drivers, model->vgpu_driver, NULL);
	}
	if (item->vfs > 0) {
		sim_sriov_build(gpu);
		return;
	}
	gpu->nparents = 1;
	gpu->parents[0].gpu = gpu;
	memcpy(gpu->parents[0].name, gpu->name, sizeof(gpu->name));
	gpu->parents[0].dir = gpu->dir;
	sim_topology_register(&gpu->parents[0]);
}

static int node_cpulist_show(const struct sim_node *node, FILE *out)
{
	fprintf(out, "%s\n", (const char *)node->owner);
	return 0;
}

static int version_show(const struct sim_node *node, FILE *out)
{
	const struct sim_kernel *kernel = node->owner;

	fprintf(out, "%s\n", kernel->driver_version);
	return 0;
}

static const struct sim_attr node_cpulist = {
	.name = "cpulist", .mode = 0444, .kept = true, .show = node_cpulist_show
};
static const struct sim_attr module_version = { .name = "version", .mode = 0444, .kept = true, .show = version_show };

static void host_build(struct sim_kernel *kernel)
{
	struct sim_tree *tree = &kernel->tree;
	char path[48];

	kernel->sys = sim_tree_dir(tree, tree->root, "sys", NULL);
	kernel->proc = sim_tree_dir(tree, tree->root, "proc", NULL);
	kernel->dev = sim_tree_dir(tree, tree->root, "dev", NULL);
	kernel->vfio_dir = sim_tree_dir(tree, kernel->dev, "vfio", NULL);
	kernel->vfio_devices = sim_tree_dir(tree, kernel->vfio_dir, "devices", NULL);
	kernel->mdev_devices = sim_tree_dir(tree, kernel->sys, "bus/mdev/devices", NULL);
	kernel->mdev_bus = sim_tree_dir(tree, kernel->sys, "class/mdev_bus", NULL);
	kernel->groups_dir = sim_tree_dir(tree, kernel->sys, "kernel/iommu_groups", NULL);
	sim_tree_varies(kernel->proc);
	sim_tree_varies(kernel->vfio_dir);
	sim_tree_varies(kernel->vfio_devices);
	sim_vfio_build(kernel);
	for (int i = 0; i < SIM_NODES; i++) {
		snprintf(path, sizeof(path), "devices/system/node/node%d", i);
		sim_tree_file(tree, sim_tree_dir(tree, kernel->sys, path, NULL), &node_cpulist,
			      (void *)(uintptr_t)sim_node_cpus[i]);
	}
}

void sim_topology_build(struct sim_kernel *kernel)
{
	struct sim_tree *tree = &kernel->tree;
	struct sim_gpu *gpu;

	host_build(kernel);
	for (int i = 0; i < kernel->spec.nitems; i++)
		kernel->ngpus += kernel->spec.items[i].cards;
	gpu = kernel->gpus = mem_new(1, (size_t)kernel->ngpus * sizeof(*gpu));
	for (int i = 0; i < kernel->spec.nitems; i++) {
		const struct sim_item *item = &kernel->spec.items[i];
		struct sim_node *modules = sim_tree_dir(tree, kernel->sys, "module", NULL);
		struct sim_node *module = sim_tree_dir(tree, modules, item->model->driver, NULL);

		if (item->model->family == SIM_NVIDIA)
			sim_tree_dir(tree, modules, "nvidia_vgpu_vfio", NULL);
		if (item->model->family == SIM_NVIDIA && !sim_tree_find(tree, module, "version"))
			sim_tree_file(tree, module, &module_version, kernel);
		for (int j = 0; j < item->cards; j++)
			gpu_build(kernel, gpu++, item, j);
	}
}
