/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Executes the operator's commands on cards. */
#include "sim/command.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sim/device.h"
#include "sim/sriov.h"
#include "sim/topology.h"
#include "sim/vf.h"
#include "base/text.h"

static bool switch_parse(const char *word, bool *on)
{
	*on = strcmp(word, "on") == 0;
	return *on || strcmp(word, "off") == 0;
}

static int card_named(const struct sim_kernel *kernel, const struct sim_words *words, struct sim_gpu **gpu)
{
	char name[PARENT_SIZE];

	if (!parent_parse(name, words->at[0]))
		return -EINVAL;
	*gpu = sim_kernel_gpu(kernel, name);
	return *gpu ? 0 : -ENODEV;
}

/* Finds the parents that the first word names: one parent, or all parents of a card. */
static int parents_named(const struct sim_kernel *kernel, const struct sim_words *words, struct sim_parent **parents,
			 int *n)
{
	struct sim_gpu *gpu;
	char name[PARENT_SIZE];

	if (!parent_parse(name, words->at[0]))
		return -EINVAL;
	gpu = sim_kernel_gpu(kernel, name);
	*parents = gpu ? gpu->parents : sim_kernel_parent(kernel, name);
	*n = gpu ? gpu->nparents : 1;
	return *parents ? 0 : -ENODEV;
}

int sim_command_register(struct sim_kernel *kernel, struct sim_words *words)
{
	struct sim_parent *parents;
	bool on;
	int n, r;

	if (words->n != 2 || !switch_parse(words->at[1], &on))
		return -EINVAL;
	r = parents_named(kernel, words, &parents, &n);
	for (int i = 0; r == 0 && i < n; i++) {
		if (on)
			sim_topology_register(&parents[i]);
		else
			r = sim_topology_unregister(&parents[i]);
	}
	return r;
}

int sim_command_register_show(const struct sim_node *node, FILE *out)
{
	const struct sim_kernel *kernel = node->owner;

	for (int i = 0; i < kernel->ngpus; i++)
		for (int j = 0; j < kernel->gpus[i].nparents; j++)
			if (kernel->gpus[i].parents[j].dir)
				fprintf(out, "%s %s\n", kernel->gpus[i].parents[j].name,
					kernel->gpus[i].parents[j].types ? "on" : "off");
	return 0;
}

/* Parses "CARD on" or "CARD off". */
static int card_switched(struct sim_kernel *kernel, struct sim_words *words, struct sim_gpu **gpu, bool *on)
{
	if (words->n != 2 || !switch_parse(words->at[1], on))
		return -EINVAL;
	return card_named(kernel, words, gpu);
}

int sim_command_vfs(struct sim_kernel *kernel, struct sim_words *words)
{
	struct sim_gpu *gpu;
	bool on;
	int r = card_switched(kernel, words, &gpu, &on);

	if (r < 0)
		return r;
	return gpu->item->vfs > 0 ? sim_sriov_switch(gpu, on) : -EINVAL;
}

int sim_command_vfs_show(const struct sim_node *node, FILE *out)
{
	const struct sim_kernel *kernel = node->owner;

	for (int i = 0; i < kernel->ngpus; i++)
		if (kernel->gpus[i].item->vfs > 0)
			fprintf(out, "%s %s\n", kernel->gpus[i].name, kernel->gpus[i].nparents > 0 ? "on" : "off");
	return 0;
}

/* nvidia-smi refuses to change the mode of a card with vGPUs: "In use by another client". */
int sim_command_mixed(struct sim_kernel *kernel, struct sim_words *words)
{
	struct sim_gpu *gpu;
	bool on;
	int r = card_switched(kernel, words, &gpu, &on);

	if (r < 0)
		return r;
	if (gpu->item->model->family != SIM_NVIDIA || gpu->is_mig)
		return -EINVAL;
	if (gpu->used > 0)
		return -EBUSY;
	gpu->is_mixed = on;
	return 0;
}

int sim_command_mixed_show(const struct sim_node *node, FILE *out)
{
	const struct sim_kernel *kernel = node->owner;

	for (int i = 0; i < kernel->ngpus; i++)
		if (kernel->gpus[i].item->model->family == SIM_NVIDIA)
			fprintf(out, "%s %s\n", kernel->gpus[i].name, kernel->gpus[i].is_mixed ? "on" : "off");
	return 0;
}

static int mig_switch(struct sim_gpu *gpu, bool on)
{
	if (gpu->used > 0)
		return -EBUSY;
	gpu->is_mig = on;
	gpu->is_mixed = false;
	gpu->ninstances = 0;
	return 0;
}

/* Numbers instances like a binary tree: the whole card is 0, halves are 1 and 2, quarters 3 to 6, eighths 7 to 13. */
static int first_id(int all, int slices)
{
	int whole = 1, part = 1;

	while (whole < all)
		whole *= 2;
	while (part < slices)
		part *= 2;
	return whole / part - 1;
}

/* Raises *id to the next free number, and returns its index in the sorted list. */
static int place_of(const struct sim_gpu *gpu, int *id)
{
	int at = 0;

	while (at < gpu->ninstances && gpu->instances[at].id < *id)
		at++;
	for (; at < gpu->ninstances && gpu->instances[at].id == *id; at++)
		++*id;
	return at;
}

static int mig_make(struct sim_gpu *gpu, const char *profile)
{
	const struct sim_item *item = gpu->item;
	int slices = atoi(profile), taken = 0, id = first_id(item->model->slices, slices), at;
	bool known = false;

	for (int i = 0; i < item->ntypes; i++)
		known = known || (item->types[i].instance && strcmp(item->types[i].instance, profile) == 0);
	if (!known || !gpu->is_mig)
		return -EINVAL;
	for (int i = 0; i < gpu->ninstances; i++)
		taken += gpu->instances[i].slices;
	if (taken + slices > item->model->slices || gpu->ninstances == SIM_INSTANCES_MAX)
		return -ENOSPC;
	at = place_of(gpu, &id);
	memmove(&gpu->instances[at + 1], &gpu->instances[at],
		(size_t)(gpu->ninstances - at) * sizeof(gpu->instances[0]));
	gpu->instances[at] = (struct sim_instance){ .id = id, .slices = slices };
	text_copy(gpu->instances[at].profile, sizeof(gpu->instances[at].profile), profile);
	gpu->ninstances++;
	return 0;
}

static int mig_destroy(struct sim_gpu *gpu, const char *word)
{
	long id;
	int at = 0;

	if (!text_number(word, 0, 1000, &id))
		return -EINVAL;
	while (at < gpu->ninstances && gpu->instances[at].id != id)
		at++;
	if (at == gpu->ninstances)
		return -ENODEV;
	if (gpu->instances[at].taken)
		return -EBUSY;
	gpu->ninstances--;
	memmove(&gpu->instances[at], &gpu->instances[at + 1],
		(size_t)(gpu->ninstances - at) * sizeof(gpu->instances[0]));
	return 0;
}

int sim_command_mig(struct sim_kernel *kernel, struct sim_words *words)
{
	struct sim_gpu *gpu;
	bool on;
	int r;

	if (words->n < 2 || words->n > 3)
		return -EINVAL;
	r = card_named(kernel, words, &gpu);
	if (r < 0)
		return r;
	if (gpu->item->model->slices == 0)
		return -EINVAL;
	if (words->n == 3)
		r = strcmp(words->at[2], "off") == 0 ? mig_destroy(gpu, words->at[1]) : -EINVAL;
	else if (switch_parse(words->at[1], &on))
		r = mig_switch(gpu, on);
	else
		r = mig_make(gpu, words->at[1]);
	sim_device_instances_changed(gpu);
	return r;
}

int sim_command_mig_show(const struct sim_node *node, FILE *out)
{
	const struct sim_kernel *kernel = node->owner;

	for (int i = 0; i < kernel->ngpus; i++) {
		const struct sim_gpu *gpu = &kernel->gpus[i];

		if (gpu->item->model->slices == 0)
			continue;
		fprintf(out, "%s %s\n", gpu->name, gpu->is_mig ? "on" : "off");
		for (int j = 0; j < gpu->ninstances; j++)
			fprintf(out, "%s %d %s %s\n", gpu->name, gpu->instances[j].id, gpu->instances[j].profile,
				gpu->instances[j].taken ? "taken" : "free");
	}
	return 0;
}

int sim_command_bind(struct sim_kernel *kernel, struct sim_words *words)
{
	struct sim_parent *parents;
	char driver[PARENT_SIZE];
	int n, r;

	if (words->n != 2 || !parent_parse(driver, words->at[1]))
		return -EINVAL;
	r = parents_named(kernel, words, &parents, &n);
	for (int i = 0; r == 0 && i < n; i++) {
		if (!parents[i].vf || parents[i].types)
			return -EINVAL;
		if (sim_vf_is_open(&parents[i]))
			return -EBUSY;
		sim_vf_bind(&parents[i], strcmp(driver, "none") == 0 ? NULL : driver);
	}
	return r;
}

int sim_command_bind_show(const struct sim_node *node, FILE *out)
{
	const struct sim_kernel *kernel = node->owner;

	for (int i = 0; i < kernel->ngpus; i++) {
		for (int j = 0; j < kernel->gpus[i].nparents; j++) {
			const struct sim_parent *parent = &kernel->gpus[i].parents[j];
			const struct sim_node *driver;

			if (!parent->vf || parent->types)
				continue;
			driver = sim_tree_find(&kernel->tree, parent->dir, "driver");
			fprintf(out, "%s %s\n", parent->name, driver ? strrchr(driver->target, '/') + 1 : "none");
		}
	}
	return 0;
}

static const char *group_of(const struct sim_kernel *kernel, const struct sim_node *dir)
{
	const struct sim_node *link = sim_tree_find(&kernel->tree, dir, "iommu_group");

	return link ? strrchr(link->target, '/') + 1 : NULL;
}

/* Returns the IOMMU group of a device. A card has no group until an "iommu" line makes one. */
static struct sim_node *group_made(struct sim_kernel *kernel, struct sim_node *dir, int number)
{
	enum { FIRST_OF_CARDS = 1000 };
	const char *name = group_of(kernel, dir);
	char own[16];
	struct sim_node *group;

	if (name)
		return sim_tree_find(&kernel->tree, kernel->groups_dir, name);
	snprintf(own, sizeof(own), "%d", FIRST_OF_CARDS + number);
	group = sim_tree_dir(&kernel->tree, kernel->groups_dir, own, NULL);
	sim_tree_link(&kernel->tree, dir, "iommu_group", group);
	sim_tree_link(&kernel->tree, sim_tree_dir(&kernel->tree, group, "devices", NULL), dir->name, dir);
	return group;
}

static void move_to_group(struct sim_kernel *kernel, const struct sim_parent *vf, struct sim_node *group)
{
	struct sim_tree *tree = &kernel->tree;
	const char *old = group_of(kernel, vf->dir);
	struct sim_node *devices = NULL;

	if (old)
		devices = sim_tree_find(tree, sim_tree_find(tree, kernel->groups_dir, old), "devices");
	if (devices)
		sim_tree_remove(tree, sim_tree_find(tree, devices, vf->name));
	sim_tree_remove(tree, sim_tree_find(tree, vf->dir, "iommu_group"));
	if (!group)
		return;
	sim_tree_link(tree, vf->dir, "iommu_group", group);
	sim_tree_link(tree, sim_tree_dir(tree, group, "devices", NULL), vf->name, vf->dir);
}

int sim_command_iommu(struct sim_kernel *kernel, struct sim_words *words)
{
	struct sim_parent *vfs, *other = NULL;
	struct sim_gpu *card = NULL;
	struct sim_node *group = NULL;
	char name[PARENT_SIZE];
	int n, r;

	if (words->n != 2 || !parent_parse(name, words->at[1]))
		return -EINVAL;
	r = parents_named(kernel, words, &vfs, &n);
	if (r < 0)
		return r;
	if (strcmp(name, "none") != 0) {
		card = sim_kernel_gpu(kernel, name);
		other = sim_kernel_parent(kernel, name);
		if (!card && !other)
			return -ENODEV;
		group = group_made(kernel, card ? card->dir : other->dir, card ? (int)(card - kernel->gpus) : 0);
	}
	for (int i = 0; i < n; i++) {
		if (!vfs[i].vf)
			return -EINVAL;
		move_to_group(kernel, &vfs[i], group);
	}
	return 0;
}

int sim_command_iommu_show(const struct sim_node *node, FILE *out)
{
	const struct sim_kernel *kernel = node->owner;

	for (int i = 0; i < kernel->ngpus; i++) {
		for (int j = 0; j < kernel->gpus[i].nparents; j++) {
			const struct sim_parent *parent = &kernel->gpus[i].parents[j];
			const char *group = parent->vf ? group_of(kernel, parent->dir) : NULL;

			if (parent->vf)
				fprintf(out, "%s %s\n", parent->name, group ? group : "none");
		}
	}
	return 0;
}
