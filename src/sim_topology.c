/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The tree of a host at its start: cards, VFs, types, NUMA nodes. */
#include "sim_topology.h"

#include <errno.h>
#include <string.h>

#include "sim_mdev.h"
#include "sim_room.h"

static const char *const node_cpus[] = { "0-15", "16-31" };

/* A file of a type's folder: the file belongs to the parent, the folder to the type. */
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
	fprintf(out, "%d\n", sim_room_available(node->owner, type_of(node)));
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

	if (parent->types)
		return;
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
	r = sim_mdev_remove_all(parent);
	if (r < 0)
		return r;
	sim_tree_remove(tree, parent->bus_link);
	sim_tree_remove(tree, parent->types);
	parent->types = parent->bus_link = NULL;
	return 0;
}

/* The attributes of a PCI device: the owner is the card, for its VFs as well. */
static const struct sim_gpu *gpu_of(const struct sim_node *node)
{
	return node->owner;
}

static const struct sim_model *model_of(const struct sim_node *node)
{
	return gpu_of(node)->item->model;
}

static int vendor_show(const struct sim_node *node, FILE *out)
{
	fprintf(out, "0x%04x\n", model_of(node)->vendor);
	return 0;
}

static int device_show(const struct sim_node *node, FILE *out)
{
	fprintf(out, "0x%04x\n", model_of(node)->device);
	return 0;
}

static int subdevice_show(const struct sim_node *node, FILE *out)
{
	fprintf(out, "0x%04x\n", model_of(node)->subdevice);
	return 0;
}

static int class_show(const struct sim_node *node, FILE *out)
{
	fprintf(out, "0x%06x\n", model_of(node)->class);
	return 0;
}

static int revision_show(const struct sim_node *node, FILE *out)
{
	(void)node;
	fputs("0xa1\n", out);
	return 0;
}

static int numa_show(const struct sim_node *node, FILE *out)
{
	fprintf(out, "%d\n", gpu_of(node)->numa_node);
	return 0;
}

static int cpulist_show(const struct sim_node *node, FILE *out)
{
	int numa_node = gpu_of(node)->numa_node;

	fprintf(out, "%s\n", numa_node < 0 ? "0-31" : node_cpus[numa_node]);
	return 0;
}

static int modalias_show(const struct sim_node *node, FILE *out)
{
	const struct sim_model *m = model_of(node);

	fprintf(out, "pci:v%08Xd%08Xsv%08Xsd%08Xbc%02Xsc%02Xi%02X\n", m->vendor, m->device, m->vendor, m->subdevice,
		m->class >> 16, m->class >> 8 & 0xff, m->class & 0xff);
	return 0;
}

static int pci_uevent_show(const struct sim_node *node, FILE *out)
{
	const struct sim_model *m = model_of(node);

	fprintf(out, "DRIVER=%s\nPCI_CLASS=%X\nPCI_ID=%04X:%04X\nPCI_SUBSYS_ID=%04X:%04X\nPCI_SLOT_NAME=%s\nMODALIAS=",
		m->driver, m->class, m->vendor, m->device, m->vendor, m->subdevice, node->parent->name);
	return modalias_show(node, out);
}

static int vfs_show(const struct sim_node *node, FILE *out)
{
	fprintf(out, "%d\n", gpu_of(node)->item->vfs);
	return 0;
}

/* NVIDIA's driver has no such function: its VFs are made with sriov-manage. */
static void vfs_store(struct sim_node *node, struct sim_write *write)
{
	(void)node;
	sim_write_done(write, -ENOENT);
}

static const struct sim_attr pci_attrs[] = {
	{ .name = "vendor", .mode = 0444, .kept = true, .show = vendor_show },
	{ .name = "device", .mode = 0444, .kept = true, .show = device_show },
	{ .name = "subsystem_vendor", .mode = 0444, .kept = true, .show = vendor_show },
	{ .name = "subsystem_device", .mode = 0444, .kept = true, .show = subdevice_show },
	{ .name = "class", .mode = 0444, .kept = true, .show = class_show },
	{ .name = "revision", .mode = 0444, .kept = true, .show = revision_show },
	{ .name = "numa_node", .mode = 0444, .kept = true, .show = numa_show },
	{ .name = "local_cpulist", .mode = 0444, .kept = true, .show = cpulist_show },
	{ .name = "modalias", .mode = 0444, .kept = true, .show = modalias_show },
	{ .name = "uevent", .mode = 0444, .kept = true, .show = pci_uevent_show },
};

static const struct sim_attr vfs_total = { .name = "sriov_totalvfs", .mode = 0444, .kept = true, .show = vfs_show };
static const struct sim_attr vfs_number = {
	.name = "sriov_numvfs", .mode = 0644, .kept = true, .show = vfs_show, .store = vfs_store
};

static struct sim_node *pci_device(struct sim_kernel *kernel, struct sim_gpu *gpu, const char *address)
{
	const struct sim_model *model = gpu->item->model;
	struct sim_tree *tree = &kernel->tree;
	struct sim_node *dir, *driver, *bus = sim_tree_dir(tree, kernel->sys, "bus/pci", NULL);
	char path[64];

	snprintf(path, sizeof(path), "devices/pci0000:%02x/%s", (unsigned)(model->bus + gpu->number), address);
	dir = sim_tree_dir(tree, kernel->sys, path, gpu);
	for (size_t i = 0; i < sizeof(pci_attrs) / sizeof(pci_attrs[0]); i++)
		sim_tree_file(tree, dir, &pci_attrs[i], gpu);
	snprintf(path, sizeof(path), "drivers/%s", model->driver);
	driver = sim_tree_dir(tree, bus, path, NULL);
	sim_tree_link(tree, dir, "driver", driver);
	sim_tree_link(tree, dir, "subsystem", bus);
	sim_tree_link(tree, driver, address, dir);
	sim_tree_link(tree, sim_tree_dir(tree, bus, "devices", NULL), address, dir);
	return dir;
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

static void vfs_build(struct sim_kernel *kernel, struct sim_gpu *gpu)
{
	struct sim_tree *tree = &kernel->tree;
	char name[24];

	sim_tree_file(tree, gpu->dir, &vfs_total, gpu);
	sim_tree_file(tree, gpu->dir, &vfs_number, gpu);
	for (int i = 0; i < gpu->nparents; i++) {
		struct sim_parent *vf = &gpu->parents[i];

		sim_model_address(vf->name, gpu->item->model, gpu->number, i);
		vf->dir = pci_device(kernel, gpu, vf->name);
		sim_tree_link(tree, vf->dir, "physfn", gpu->dir);
		snprintf(name, sizeof(name), "virtfn%d", i);
		sim_tree_link(tree, gpu->dir, name, vf->dir);
	}
}

static void gpu_build(struct sim_kernel *kernel, struct sim_gpu *gpu, const struct sim_item *item, int number)
{
	const struct sim_model *model = item->model;
	struct sim_tree *tree = &kernel->tree;
	struct sim_node *drivers = sim_tree_dir(tree, kernel->mdev_devices->parent, "drivers", NULL);

	gpu->kernel = kernel;
	gpu->item = item;
	gpu->number = number;
	gpu->numa_node = model->family == SIM_NVIDIA ? number % 2 : -1;
	for (int i = 0; i < SIM_KNOBS; i++)
		gpu->knobs[i] = -1;
	gpu->nparents = item->vfs > 0 ? item->vfs : 1;
	gpu->parents = sim_alloc((size_t)gpu->nparents * sizeof(gpu->parents[0]));
	for (int i = 0; i < gpu->nparents; i++)
		gpu->parents[i].gpu = gpu;
	sim_model_address(gpu->name, model, number, -1);
	gpu->dir = model->vendor ? pci_device(kernel, gpu, gpu->name) : virtual_device(kernel, gpu);
	sim_tree_dir(tree, drivers, model->mdev_driver, NULL);
	if (item->vfs > 0) {
		vfs_build(kernel, gpu);
	} else {
		memcpy(gpu->parents[0].name, gpu->name, sizeof(gpu->name));
		gpu->parents[0].dir = gpu->dir;
	}
	for (int i = 0; i < gpu->nparents; i++)
		sim_topology_register(&gpu->parents[i]);
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

/* The folders that are there whatever the cards are. */
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
	sim_tree_device(tree, kernel->vfio_dir, "vfio", NULL);
	for (size_t i = 0; i < sizeof(node_cpus) / sizeof(node_cpus[0]); i++) {
		snprintf(path, sizeof(path), "devices/system/node/node%zu", i);
		sim_tree_file(tree, sim_tree_dir(tree, kernel->sys, path, NULL), &node_cpulist,
			      (void *)(uintptr_t)node_cpus[i]);
	}
}

void sim_topology_build(struct sim_kernel *kernel)
{
	struct sim_tree *tree = &kernel->tree;
	struct sim_gpu *gpu;

	host_build(kernel);
	for (int i = 0; i < kernel->spec.nitems; i++)
		kernel->ngpus += kernel->spec.items[i].cards;
	gpu = kernel->gpus = sim_alloc((size_t)kernel->ngpus * sizeof(*gpu));
	for (int i = 0; i < kernel->spec.nitems; i++) {
		const struct sim_item *item = &kernel->spec.items[i];
		struct sim_node *modules = sim_tree_dir(tree, kernel->sys, "module", NULL);
		struct sim_node *module = sim_tree_dir(tree, modules, item->model->driver, NULL);

		if (item->model->family == SIM_NVIDIA && !sim_tree_find(tree, module, "version"))
			sim_tree_file(tree, module, &module_version, kernel);
		for (int j = 0; j < item->cards; j++)
			gpu_build(kernel, gpu++, item, j);
	}
}
