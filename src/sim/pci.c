/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* PCI devices: their attributes and their drivers. */
#include "sim/pci.h"

#include <errno.h>
#include <string.h>

#include "base/mem.h"

const char *const sim_node_cpus[SIM_NODES] = { "0-15", "16-31" };

static const struct sim_gpu *gpu_of(const struct sim_node *node)
{
	return node->owner;
}

static const struct sim_model *model_of(const struct sim_node *node)
{
	return gpu_of(node)->item->model;
}

/* NVIDIA's VFs have no subsystem device. */
static unsigned subdevice_of(const struct sim_node *node)
{
	bool is_vf = node->parent != gpu_of(node)->dir;

	return is_vf && model_of(node)->family == SIM_NVIDIA ? 0 : model_of(node)->subdevice;
}

static unsigned device_of(const struct sim_node *node)
{
	const struct sim_model *m = model_of(node);

	return m->vf_device && node->parent != gpu_of(node)->dir ? m->vf_device : m->device;
}

static int vendor_show(const struct sim_node *node, FILE *out)
{
	fprintf(out, "0x%04x\n", model_of(node)->vendor);
	return 0;
}

static int device_show(const struct sim_node *node, FILE *out)
{
	fprintf(out, "0x%04x\n", device_of(node));
	return 0;
}

static int subdevice_show(const struct sim_node *node, FILE *out)
{
	fprintf(out, "0x%04x\n", subdevice_of(node));
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

	fprintf(out, "%s\n", numa_node < 0 ? "0-31" : sim_node_cpus[numa_node]);
	return 0;
}

static int modalias_show(const struct sim_node *node, FILE *out)
{
	const struct sim_model *m = model_of(node);

	fprintf(out, "pci:v%08Xd%08Xsv%08Xsd%08Xbc%02Xsc%02Xi%02X\n", m->vendor, device_of(node), m->vendor,
		subdevice_of(node), m->class >> 16, m->class >> 8 & 0xff, m->class & 0xff);
	return 0;
}

static int pci_uevent_show(const struct sim_node *node, FILE *out)
{
	const struct sim_model *m = model_of(node);
	const struct sim_node *driver = sim_tree_find(&gpu_of(node)->kernel->tree, node->parent, "driver");

	if (driver)
		fprintf(out, "DRIVER=%s\n", strrchr(driver->target, '/') + 1);
	fprintf(out, "PCI_CLASS=%X\nPCI_ID=%04X:%04X\nPCI_SUBSYS_ID=%04X:%04X\nPCI_SLOT_NAME=%s\nMODALIAS=", m->class,
		m->vendor, device_of(node), m->vendor, subdevice_of(node), node->parent->name);
	return modalias_show(node, out);
}

static void msix_store(struct sim_node *node, struct sim_write *write)
{
	(void)node;
	sim_write_done(write, -EOPNOTSUPP);
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

static const struct sim_attr vf_msix = { .name = "sriov_vf_msix_count", .mode = 0200, .store = msix_store };

static struct sim_node *bus_of(struct sim_kernel *kernel)
{
	return sim_tree_dir(&kernel->tree, kernel->sys, "bus/pci", NULL);
}

static struct sim_node *devices_of(struct sim_kernel *kernel)
{
	return sim_tree_dir(&kernel->tree, bus_of(kernel), "devices", NULL);
}

struct sim_node *sim_pci_device(struct sim_gpu *gpu, const char *address)
{
	struct sim_kernel *kernel = gpu->kernel;
	struct sim_tree *tree = &kernel->tree;
	struct sim_node *dir;
	char path[32 + PARENT_SIZE];

	snprintf(path, sizeof(path), "devices/pci%.7s/%s", gpu->name, address);
	dir = sim_tree_dir(tree, kernel->sys, path, gpu);
	for (size_t i = 0; i < ARRAY_SIZE(pci_attrs); i++)
		sim_tree_file(tree, dir, &pci_attrs[i], gpu);
	if (strcmp(address, gpu->name) != 0)
		sim_tree_file(tree, dir, &vf_msix, gpu);
	sim_tree_link(tree, dir, "subsystem", bus_of(kernel));
	sim_tree_link(tree, devices_of(kernel), address, dir);
	return dir;
}

void sim_pci_device_gone(struct sim_gpu *gpu, struct sim_node *dir)
{
	struct sim_tree *tree = &gpu->kernel->tree;

	sim_tree_remove(tree, sim_tree_find(tree, devices_of(gpu->kernel), dir->name));
	sim_tree_remove(tree, dir);
}

void sim_pci_bind(struct sim_gpu *gpu, struct sim_node *dir, const char *driver)
{
	struct sim_tree *tree = &gpu->kernel->tree;
	struct sim_node *drivers = sim_tree_dir(tree, bus_of(gpu->kernel), "drivers", NULL);
	struct sim_node *link = sim_tree_find(tree, dir, "driver"), *to;

	if (link) {
		to = sim_tree_find(tree, drivers, strrchr(link->target, '/') + 1);
		sim_tree_remove(tree, sim_tree_find(tree, to, dir->name));
		sim_tree_remove(tree, link);
	}
	if (driver) {
		to = sim_tree_dir(tree, drivers, driver, NULL);
		sim_tree_link(tree, dir, "driver", to);
		sim_tree_link(tree, to, dir->name, dir);
	}
	sim_tree_stale(tree, sim_tree_find(tree, dir, "uevent"));
}
