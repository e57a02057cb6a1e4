/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The files of the cards and devices, as sysfs, /dev and /proc have them. */
#include "base/text.h"
#include "model/simulation/driver.h"
#include "model/simulation/processes.h"

static struct tree *tree;

/* By others than the program: no points. */
#define add(...) (quiet++, tree_addf(tree, __VA_ARGS__), quiet--)
#define drop(...) tree_remove(tree, __VA_ARGS__)

void card_parent(char out[PARENT_SIZE], int card, int n)
{
	snprintf(out, PARENT_SIZE, "%s", cards[card].address);
	if (cards[card].nvfs)
		out[strlen(out) - 1] = (char)('4' + n);
}

int card_parents(int card)
{
	return disabled[card] ? 0 : cards[card].nvfs ? cards[card].nvfs : 1;
}

int vf_group(const char *vf)
{
	return (int)strtol(vf + strlen("0000:"), NULL, 16) * 1000 + vf[strlen(vf) - 1] - '0';
}

static const char *type_number(int card, int type)
{
	return cards[card].types[type].id + strlen("nvidia-");
}

/* A VF with a type lists none. */
static void show_types(int card, const char *vf)
{
	char list[256] = "ID    : vGPU Name";

	for (int t = 0; t < CARD_TYPES; t++)
		if (card_free(card, t) > 0 && !driver_is_taken(vf))
			text_add(list, sizeof(list), "\\n%-5s : NVIDIA L40S-%dB", type_number(card, t),
				 cards[card].types[t].mib / 1024);
	add("sys/devices/%s/%s/nvidia/creatable_vgpu_types = %s\n", cards[card].directory, vf, list);
}

void files_counts(int card)
{
	const struct card *c = &cards[card];
	char parent[PARENT_SIZE];

	for (int i = 0; i < card_parents(card); i++) {
		card_parent(parent, card, i);
		if (c->framework == FW_VARIANT)
			show_types(card, parent);
		for (int t = 0; t < CARD_TYPES && c->types[t].id && c->framework == FW_MDEV; t++) {
			int n = card_free(card, t);

			add("sys/devices/%s/%s/mdev_supported_types/%s/available_instances = %d\n", c->directory,
			    parent, c->types[t].id, c->nvfs ? n > 0 && !driver_is_taken(parent) : n);
		}
	}
}

static void start_parent(int card, int n)
{
	const struct card *c = &cards[card];
	char parent[PARENT_SIZE];

	card_parent(parent, card, n);
	if (c->nvfs)
		add("sys/devices/%1$s/\n %2$s/physfn -> ../%3$s\n %3$s/virtfn%4$d -> ../%2$s\n %2$s/modalias = pci:v000010DEd00000000\n"
		    "sys/bus/pci/devices/%2$s -> ../../../devices/%1$s/%2$s\n",
		    c->directory, parent, c->address, n);
	if (c->framework != FW_MDEV)
		add("sys/devices/%1$s/%2$s/\n iommu_group -> ../../../kernel/iommu_groups/%3$d\n"
		    " driver -> ../../../bus/pci/drivers/%4$s\n"
		    "dev/vfio/%3$d = \nsys/class/vfio/%3$d/dev = 511:%3$d\n",
		    c->directory, parent, vf_group(parent), c->nvidia ? "nvidia" : "vfio-pci");
	if (c->framework == FW_VARIANT)
		add("sys/devices/%s/%s/nvidia/current_vgpu_type = 0\n", c->directory, parent);
	if (c->framework != FW_MDEV)
		return;
	add("sys/class/mdev_bus/%2$s -> ../../devices/%1$s/%2$s\n", c->directory, parent);
	for (int t = 0; t < CARD_TYPES && c->types[t].id; t++) {
		add("sys/devices/%1$s/%2$s/mdev_supported_types/%3$s/\n device_api = vfio-pci\n name = %3$s\n",
		    c->directory, parent, c->types[t].id);
		if (c->types[t].mib)
			add("sys/devices/%s/%s/mdev_supported_types/%s/description = num_heads=4, framebuffer=%dM, max_instance=%d\n",
			    c->directory, parent, c->types[t].id, c->types[t].mib, c->units / c->types[t].cost);
	}
}

static void end_parent(int card, int n)
{
	const struct card *c = &cards[card];
	char parent[PARENT_SIZE];

	card_parent(parent, card, n);
	drop("sys/devices/%s/%s/virtfn%d", c->directory, c->address, n);
	drop("sys/bus/pci/devices/%s", parent);
	drop("sys/devices/%s/%s", c->directory, parent);
	drop("dev/vfio/%d", vf_group(parent));
	drop("sys/class/vfio/%d", vf_group(parent));
}

void files_parents(int card, bool there)
{
	const struct card *c = &cards[card];

	for (int i = 0; i < card_parents(card); i++)
		(there ? start_parent : end_parent)(card, i);
	if (c->nvfs)
		add("sys/devices/%s/%s/sriov_numvfs = %d\n", c->directory, c->address, there ? c->nvfs : 0);
}

void driver_start(struct tree *host)
{
	tree = host;
	add("sys/bus/mdev/devices/\nsys/module/nvidia/version = 550.90.05\nproc/\ndev/vfio/\netc/libvirt/qemu/\nrun/libvirt/qemu/\nvar/lib/\n");
	for (int c = 0; c < CARDS; c++) {
		const struct card *card = &cards[c];

		if (card->numa >= 0)
			add("sys/devices/%1$s/%2$s/\n modalias = pci:v000010DEd00001EB8\n numa_node = %3$d\n"
			    "sys/bus/pci/devices/%2$s -> ../../../devices/%1$s/%2$s\n",
			    card->directory, card->address, card->numa);
		if (card->framework != FW_MDEV)
			add("sys/devices/%1$s/%2$s/\n sriov_totalvfs = %3$d\n sriov_offset = 4\n sriov_stride = 1\n"
			    "sys/bus/pci/drivers/%4$s/%2$s -> ../../../../devices/%1$s/%2$s\n",
			    card->directory, card->address, card->nvfs, card->nvidia ? "nvidia" : "xe");
		driver_enable(c);
	}
}

void files_begin(const struct device *d)
{
	if (cards[d->card].framework == FW_VARIANT)
		add("sys/devices/%s/%s/nvidia/current_vgpu_type = %s\n", cards[d->card].directory, d->parent,
		    type_number(d->card, d->type));
	if (cards[d->card].framework != FW_MDEV)
		return;
	add("sys/devices/%1$s/%2$s/%3$s/remove = \n"
	    "sys/bus/mdev/devices/%3$s -> ../../../devices/%1$s/%2$s/%3$s\n",
	    cards[d->card].directory, d->parent, d->uuid);
}

void files_complete(const struct device *d)
{
	const struct card *c = &cards[d->card];

	if (c->framework != FW_MDEV)
		return;
	add("sys/devices/%1$s/%2$s/%3$s/\n mdev_type -> ../mdev_supported_types/%4$s\n"
	    " iommu_group -> ../../../../kernel/iommu_groups/%5$d\n"
	    "dev/vfio/%5$d = \nsys/class/vfio/%5$d/dev = 511:%5$d\n",
	    c->directory, d->parent, d->uuid, c->types[d->type].id, d->group);
}

void files_drop(const struct device *d)
{
	if (cards[d->card].framework == FW_VARIANT)
		add("sys/devices/%s/%s/nvidia/current_vgpu_type = 0\n", cards[d->card].directory, d->parent);
	if (cards[d->card].framework != FW_MDEV)
		return;
	drop("sys/devices/%s/%s/%s", cards[d->card].directory, d->parent, d->uuid);
	drop("sys/bus/mdev/devices/%s", d->uuid);
	drop("dev/vfio/%d", d->group);
	drop("sys/class/vfio/%d", d->group);
}

void device_open(struct device *d, int pid)
{
	if (d->opener)
		return;
	d->opener = pid;
	d->opened_ms = now_ms();
	add("proc/%d/fd/%d -> /dev/vfio/%d\n", pid, d->group, d->group);
}

void device_close(struct device *d)
{
	bool last = true;

	if (!d->opener)
		return;
	for (int i = 0; i < DEVICES; i++)
		last &= &devices[i] == d || devices[i].opener != d->opener;
	if (last)
		drop("proc/%d", d->opener);
	else
		drop("proc/%d/fd/%d", d->opener, d->group);
	d->opener = 0;
	device_events++;
}
