/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The files of the cards and devices, as sysfs, /dev and /proc have them. */
#include <errno.h>
#include <stdarg.h>

#include "model/simulation/driver.h"
#include "model/simulation/processes.h"

static struct tree *tree;

static void add(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static void add(const char *fmt, ...)
{
	char text[2048];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	quiet++;
	tree_add(tree, text);
	quiet--;
}

static void drop(const char *path)
{
	quiet++;
	if (unlinkat(tree->host.root, path, 0) < 0 && errno == EISDIR)
		unlinkat(tree->host.root, path, AT_REMOVEDIR);
	quiet--;
}

void card_parent(char out[PARENT_SIZE], int card, int n)
{
	snprintf(out, PARENT_SIZE, "%s", cards[card].address);
	if (cards[card].nvfs)
		out[strlen(out) - 1] = (char)('4' + n);
}

int card_parents(int card)
{
	return cards[card].nvfs ? cards[card].nvfs : 1;
}

void files_counts(int card)
{
	const struct card *c = &cards[card];
	char parent[PARENT_SIZE];

	for (int i = 0; i < card_parents(card); i++) {
		card_parent(parent, card, i);
		for (int t = 0; t < CARD_TYPES && c->types[t].id; t++) {
			int n = card_free(card, t);

			add("sys/devices/%s/%s/mdev_supported_types/%s/available_instances = %d\n", c->directory,
			    parent, c->types[t].id, c->nvfs ? n > 0 && !driver_is_taken(parent) : n);
		}
	}
}

static void start_parent(int card, int n)
{
	const struct card *c = &cards[card];
	char parent[PARENT_SIZE], directory[PARENT_SIZE * 2];

	card_parent(parent, card, n);
	snprintf(directory, sizeof(directory), "sys/devices/%s/%s", c->directory, parent);
	add("sys/class/mdev_bus/%s -> ../../devices/%s/%s\n", parent, c->directory, parent);
	if (c->nvfs)
		add("%s/physfn -> ../%s\n"
		    "sys/devices/%s/%s/virtfn%d -> ../%s\n"
		    "%s/vendor = 0x10de\n"
		    "sys/bus/pci/devices/%s -> ../../../devices/%s/%s\n",
		    directory, c->address, c->directory, c->address, n, parent, directory, parent, c->directory,
		    parent);
	for (int t = 0; t < CARD_TYPES && c->types[t].id; t++) {
		add("%s/mdev_supported_types/%s/device_api = vfio-pci\n", directory, c->types[t].id);
		add("%s/mdev_supported_types/%s/name = %s\n", directory, c->types[t].id, c->types[t].id);
		if (c->types[t].mib)
			add("%s/mdev_supported_types/%s/description = num_heads=4, framebuffer=%dM, max_instance=%d\n",
			    directory, c->types[t].id, c->types[t].mib, c->units / c->types[t].cost);
	}
}

void driver_start(struct tree *host)
{
	tree = host;
	add("sys/bus/mdev/devices/\nproc/\ndev/vfio/\netc/libvirt/qemu/\nrun/libvirt/qemu/\nvar/lib/\n");
	for (int c = 0; c < CARDS; c++) {
		const struct card *card = &cards[c];

		if (card->numa >= 0)
			add("sys/devices/%1$s/%2$s/vendor = 0x10de\n"
			    "sys/devices/%1$s/%2$s/device = 0x1eb8\n"
			    "sys/devices/%1$s/%2$s/numa_node = %3$d\n"
			    "sys/bus/pci/devices/%2$s -> ../../../devices/%1$s/%2$s\n",
			    card->directory, card->address, card->numa);
		if (card->nvfs)
			add("sys/devices/%s/%s/sriov_numvfs = %d\n", card->directory, card->address, card->nvfs);
		for (int i = 0; i < card_parents(c); i++)
			start_parent(c, i);
		files_counts(c);
	}
}

/* The first half of a device's directory. */
void files_begin(const struct device *d)
{
	add("sys/devices/%1$s/%2$s/%3$s/remove = \n"
	    "sys/bus/mdev/devices/%3$s -> ../../../devices/%1$s/%2$s/%3$s\n",
	    cards[d->card].directory, d->parent, d->uuid);
}

/* The second half of a device's directory. */
void files_complete(const struct device *d)
{
	const struct card *c = &cards[d->card];

	add("sys/devices/%1$s/%2$s/%3$s/mdev_type -> ../mdev_supported_types/%4$s\n"
	    "sys/devices/%1$s/%2$s/%3$s/iommu_group -> ../../../../kernel/iommu_groups/%5$d\n"
	    "dev/vfio/%5$d = \n"
	    "sys/class/vfio/%5$d/dev = 511:%5$d\n",
	    c->directory, d->parent, d->uuid, c->types[d->type].id, d->group);
}

void files_drop(const struct device *d)
{
	static const char *const files[] = { "/remove", "/mdev_type", "/iommu_group", "" };
	char path[256];

	for (int i = 0; i < 4; i++) {
		snprintf(path, sizeof(path), "sys/devices/%s/%s/%s%s", cards[d->card].directory, d->parent, d->uuid,
			 files[i]);
		drop(path);
	}
	snprintf(path, sizeof(path), "sys/bus/mdev/devices/%s", d->uuid);
	drop(path);
	snprintf(path, sizeof(path), "dev/vfio/%d", d->group);
	drop(path);
	snprintf(path, sizeof(path), "sys/class/vfio/%d/dev", d->group);
	drop(path);
	*strrchr(path, '/') = '\0';
	drop(path);
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
	char path[64];

	if (!d->opener)
		return;
	snprintf(path, sizeof(path), "proc/%d/fd/%d", d->opener, d->group);
	drop(path);
	/* The process goes with the last that it has open. */
	for (int i = 0; i < 2; i++) {
		*strrchr(path, '/') = '\0';
		quiet++;
		unlinkat(tree->host.root, path, AT_REMOVEDIR);
		quiet--;
	}
	d->opener = 0;
	device_events++;
}
