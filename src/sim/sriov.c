/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The files sriov_* of a card, as in Linux's drivers/pci/iov.c. */
#include "sim/sriov.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "sim/pci.h"
#include "sim/topology.h"
#include "sim/vf.h"

static struct sim_gpu *gpu_of(const struct sim_node *node)
{
	return node->owner;
}

static void vf_build(struct sim_gpu *gpu, int number)
{
	struct sim_parent *parent = &gpu->parents[number];
	struct sim_tree *tree = &gpu->kernel->tree;
	const struct sim_model *model = gpu->item->model;
	const char *driver = model->framework == SIM_FW_VF ? model->vgpu_driver : model->driver;
	char name[24];

	*parent = (struct sim_parent){ .gpu = gpu };
	sim_model_address(parent->name, gpu->item, gpu->number, number);
	parent->dir = sim_pci_device(gpu, parent->name);
	sim_tree_link(tree, parent->dir, "physfn", gpu->dir);
	snprintf(name, sizeof(name), "virtfn%d", number);
	sim_tree_link(tree, gpu->dir, name, parent->dir);
	if (model->framework != SIM_FW_MDEV)
		sim_vf_make(parent);
	/* NVIDIA's sriov-manage binds the driver, even if autoprobe is off. */
	sim_vf_bind(parent, model->framework == SIM_FW_VF && gpu->no_autoprobe ? NULL : driver);
	sim_topology_register(parent);
}

/* Removes what the kernel removes before it waits for the close of the VF. */
static void vf_goes(struct sim_gpu *gpu, int number)
{
	struct sim_parent *vf = &gpu->parents[number];
	struct sim_tree *tree = &gpu->kernel->tree;
	char name[24];

	snprintf(name, sizeof(name), "virtfn%d", number);
	sim_tree_remove(tree, sim_tree_find(tree, gpu->dir, name));
	sim_tree_remove(tree, sim_tree_find(tree, vf->dir, "physfn"));
	if (sim_vf_is_open(vf))
		sim_vf_unbind_open(vf);
}

static void vf_gone(struct sim_gpu *gpu, int number)
{
	struct sim_parent *vf = &gpu->parents[number];

	sim_topology_unregister(vf);
	sim_vf_bind(vf, NULL);
	sim_vf_free(vf);
	sim_pci_device_gone(gpu, vf->dir);
	*vf = (struct sim_parent){ .gpu = gpu };
}

/* Disables the VFs in order. False: an open VF must be closed first. */
static bool disable(struct sim_gpu *gpu)
{
	struct sim_node *count = sim_tree_find(&gpu->kernel->tree, gpu->dir, "sriov_numvfs");

	for (int i = 0; i < gpu->nparents; i++) {
		if (!gpu->parents[i].dir)
			continue;
		vf_goes(gpu, i);
		gpu->disables = count->waits = sim_vf_is_open(&gpu->parents[i]);
		if (gpu->disables)
			return false;
		vf_gone(gpu, i);
	}
	gpu->nparents = 0;
	return true;
}

static void enable(struct sim_gpu *gpu, int n)
{
	while (gpu->nparents < n)
		vf_build(gpu, gpu->nparents++);
}

/* Handles the first waiting write. False: the write must wait until a VF is closed. */
static bool ask_ends(struct sim_gpu *gpu)
{
	struct sim_vfs_write *ask = gpu->vfs_asks;
	bool can = gpu->item->model->framework == SIM_FW_VF; /* NVIDIA's driver has no sriov_configure */
	int r = 0;

	if (ask->n != gpu->nparents && !can)
		r = -ENOENT;
	else if (ask->n == 0 && !disable(gpu))
		return false;
	else if (ask->n != gpu->nparents && gpu->nparents > 0)
		r = -EBUSY;
	else
		enable(gpu, ask->n);
	gpu->vfs_asks = ask->next;
	sim_write_done(ask->write, r < 0 ? r : (ssize_t)ask->write->len);
	free(ask);
	return true;
}

void sim_sriov_closed(struct sim_gpu *gpu)
{
	if (!gpu->disables)
		return;
	while (gpu->vfs_asks && ask_ends(gpu))
		;
}

int sim_sriov_switch(struct sim_gpu *gpu, bool on)
{
	if (gpu->disables)
		return -EBUSY;
	if (on == (gpu->nparents > 0))
		return 0;
	for (int i = 0; i < gpu->nparents; i++)
		if (gpu->parents[i].held > 0 || sim_vf_is_open(&gpu->parents[i]))
			return -EBUSY;
	gpu->is_mixed = false;
	gpu->ninstances = 0;
	if (on)
		enable(gpu, gpu->item->vfs);
	else
		disable(gpu);
	return 0;
}

static int total_show(const struct sim_node *node, FILE *out)
{
	fprintf(out, "%d\n", gpu_of(node)->item->vfs);
	return 0;
}

static int number_show(const struct sim_node *node, FILE *out)
{
	fprintf(out, "%d\n", gpu_of(node)->nparents);
	return 0;
}

static int offset_show(const struct sim_node *node, FILE *out)
{
	fprintf(out, "%d\n", gpu_of(node)->item->model->first_vf);
	return 0;
}

static int stride_show(const struct sim_node *node, FILE *out)
{
	(void)node;
	fputs("1\n", out);
	return 0;
}

static int vf_device_show(const struct sim_node *node, FILE *out)
{
	const struct sim_model *model = gpu_of(node)->item->model;

	fprintf(out, "%04x\n", model->vf_device ? model->vf_device : model->device);
	return 0;
}

static int autoprobe_show(const struct sim_node *node, FILE *out)
{
	fprintf(out, "%d\n", !gpu_of(node)->no_autoprobe);
	return 0;
}

/* Parses as kstrtobool() does: the first letter, or the second letter of "on" and "off". */
static void autoprobe_store(struct sim_node *node, struct sim_write *write)
{
	const char *word = write->data;
	bool is_o = *word == 'o' || *word == 'O';
	char says = (char)tolower((unsigned char)(is_o ? word[1] : word[0]));
	bool on = says == '1' || (says == 'n' && is_o) || (!is_o && (says == 'y' || says == 't'));
	bool off = says == '0' || (says == 'f' && is_o) || (!is_o && (says == 'n' || says == 'f'));

	if (on || off)
		gpu_of(node)->no_autoprobe = off;
	sim_write_done(write, on || off ? (ssize_t)write->len : -EINVAL);
}

/* Parses a number as kstrtou16() does: at most one newline at the end. */
static bool number_written(int *out, const struct sim_write *write)
{
	const char *digits = write->data + (*write->data == '+');
	unsigned long n;
	char *end;

	if (!isdigit((unsigned char)*digits))
		return false;
	errno = 0;
	n = strtoul(digits, &end, 0);
	*out = (int)n;
	return errno == 0 && n <= UINT16_MAX && (*end == '\0' || strcmp(end, "\n") == 0);
}

static void number_store(struct sim_node *node, struct sim_write *write)
{
	struct sim_gpu *gpu = gpu_of(node);
	struct sim_vfs_write **at = &gpu->vfs_asks;
	int n;
	bool is_number = number_written(&n, write);

	if (!is_number || n > gpu->item->vfs) {
		sim_write_done(write, is_number ? -ERANGE : -EINVAL);
		return;
	}
	while (*at)
		at = &(*at)->next;
	*at = mem_new(1, sizeof(**at));
	**at = (struct sim_vfs_write){ .write = write, .n = n };
	while (gpu->vfs_asks && !gpu->disables && ask_ends(gpu))
		;
}

static const struct sim_attr attrs[] = {
	{ .name = "sriov_totalvfs", .mode = 0444, .kept = true, .show = total_show },
	{ .name = "sriov_numvfs", .mode = 0644, .show = number_show, .store = number_store },
	{ .name = "sriov_offset", .mode = 0444, .kept = true, .show = offset_show },
	{ .name = "sriov_stride", .mode = 0444, .kept = true, .show = stride_show },
	{ .name = "sriov_vf_device", .mode = 0444, .kept = true, .show = vf_device_show },
	{ .name = "sriov_drivers_autoprobe", .mode = 0644, .show = autoprobe_show, .store = autoprobe_store },
};

void sim_sriov_build(struct sim_gpu *gpu)
{
	for (size_t i = 0; i < ARRAY_SIZE(attrs); i++)
		sim_tree_file(&gpu->kernel->tree, gpu->dir, &attrs[i], gpu);
	enable(gpu, gpu->item->vfs);
}
