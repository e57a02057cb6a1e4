/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A kernel for tests in one process: its cards, its devices, and their files. What the program calls is in wrap.c. */
#include "model/fake/kernel.h"

#include <errno.h>
#include <stdarg.h>
#include <sys/mman.h>

#include "model/fake/wrap.h"

const struct fake_card fake_cards[FAKE_CARDS] = {
	{ "0000:84:00.0", "pci0000:80", 6, 0, 0, true, { { "nvidia-222", 1024, 1 }, { "nvidia-223", 2048, 2 } } },
	{ "0000:85:00.0", "pci0000:80", 6, 0, 1, true, { { "nvidia-222", 1024, 1 }, { "nvidia-223", 2048, 2 } } },
	{ "0000:41:00.0", "pci0000:40", 3, 4, 0, true, { { "nvidia-560", 4096, 1 }, { NULL } } },
	{ "mtty", "virtual/mtty", 9, 0, -1, false, { { "mtty-2", 0, 2 }, { "mtty-1", 0, 1 } } },
};

struct fake *fake;
const char *(*fake_may_remove)(const struct fake_device *device);
int (*fake_cap)(int card, int type);
static struct tree *host_tree;
int fake_root;

void fake_broken(const char *fmt, ...)
{
	va_list ap;

	if (*fake->broken)
		return;
	va_start(ap, fmt);
	vsnprintf(fake->broken, sizeof(fake->broken), fmt, ap);
	va_end(ap);
}

static void add(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static void add(const char *fmt, ...)
{
	char text[2048];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	tree_add(host_tree, text);
}

static void drop(const char *path)
{
	unlinkat(host_tree->host.root, path, 0);
}

/* The n-th parent of a card: the card itself, or 0000:41:00.4 and on. */
static void parent_name(char out[PARENT_SIZE], int card, int n)
{
	const struct fake_card *c = &fake_cards[card];

	snprintf(out, PARENT_SIZE, "%s", c->address);
	if (c->nvfs)
		out[strlen(out) - 1] = (char)('4' + n);
}

static int nparents(int card)
{
	return fake_cards[card].nvfs ? fake_cards[card].nvfs : 1;
}

static int find_parent(const char *parent)
{
	char name[PARENT_SIZE];

	for (int c = 0; c < FAKE_CARDS; c++)
		for (int i = 0; i < nparents(c); i++)
			if (parent_name(name, c, i), strcmp(name, parent) == 0)
				return c;
	return -1;
}

int fake_count(int card, int type)
{
	int n = 0;

	for (int i = 0; i < FAKE_DEVICES; i++)
		n += *fake->devices[i].uuid && fake->devices[i].card == card &&
		     (type < 0 || fake->devices[i].type == type);
	return n;
}

int fake_free(int card, int type)
{
	const struct fake_card *c = &fake_cards[card];
	int used = 0;

	for (int i = 0; i < FAKE_DEVICES; i++) {
		const struct fake_device *d = &fake->devices[i];

		if (!*d->uuid || d->card != card)
			continue;
		used += c->types[d->type].cost;
		if (c->nvidia && c->types[d->type].mib != c->types[type].mib)
			return 0;
	}
	return (c->units - used) / c->types[type].cost;
}

static bool parent_is_taken(const char *parent)
{
	for (int i = 0; i < FAKE_DEVICES; i++)
		if (*fake->devices[i].uuid && strcmp(fake->devices[i].parent, parent) == 0)
			return true;
	return false;
}

static void write_counts(int card)
{
	const struct fake_card *c = &fake_cards[card];
	char parent[PARENT_SIZE];

	for (int i = 0; i < nparents(card); i++) {
		parent_name(parent, card, i);
		for (int t = 0; t < FAKE_TYPES && c->types[t].id; t++) {
			int n = fake_free(card, t);

			if (c->nvfs)
				n = n > 0 && !parent_is_taken(parent);
			add("sys/devices/%s/%s/mdev_supported_types/%s/available_instances = %d\n", c->directory,
			    parent, c->types[t].id, n);
		}
	}
}

static void start_parent(int card, int n)
{
	const struct fake_card *c = &fake_cards[card];
	char parent[PARENT_SIZE], directory[PARENT_SIZE * 2];

	parent_name(parent, card, n);
	snprintf(directory, sizeof(directory), "sys/devices/%s/%s", c->directory, parent);
	add("sys/class/mdev_bus/%s -> ../../devices/%s/%s\n", parent, c->directory, parent);
	if (c->nvfs)
		add("%s/physfn -> ../%s\n"
		    "sys/devices/%s/%s/virtfn%d -> ../%s\n"
		    "%s/vendor = 0x10de\n"
		    "sys/bus/pci/devices/%s -> ../../../devices/%s/%s\n",
		    directory, c->address, c->directory, c->address, n, parent, directory, parent, c->directory,
		    parent);
	for (int t = 0; t < FAKE_TYPES && c->types[t].id; t++) {
		add("%s/mdev_supported_types/%s/device_api = vfio-pci\n", directory, c->types[t].id);
		add("%s/mdev_supported_types/%s/name = %s\n", directory, c->types[t].id, c->types[t].id);
		if (c->types[t].mib)
			add("%s/mdev_supported_types/%s/description = num_heads=4, framebuffer=%dM, max_instance=%d\n",
			    directory, c->types[t].id, c->types[t].mib, c->units / c->types[t].cost);
	}
}

void fake_start(struct tree *tree)
{
	host_tree = tree;
	fake_root = tree->host.root;
	fake = mmap(NULL, sizeof(*fake), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (fake == MAP_FAILED)
		tree_fail("mmap");
	fake->now_ms = 1000000;
	fake_process();
	add("sys/bus/mdev/devices/\nproc/\ndev/vfio/\netc/libvirt/qemu/\nrun/libvirt/qemu/\nvar/lib/\n");
	for (int c = 0; c < FAKE_CARDS; c++) {
		const struct fake_card *card = &fake_cards[c];

		if (card->numa >= 0)
			add("sys/devices/%1$s/%2$s/vendor = 0x10de\n"
			    "sys/devices/%1$s/%2$s/device = 0x1eb8\n"
			    "sys/devices/%1$s/%2$s/numa_node = %3$d\n"
			    "sys/bus/pci/devices/%2$s -> ../../../devices/%1$s/%2$s\n",
			    card->directory, card->address, card->numa);
		if (card->nvfs)
			add("sys/devices/%s/%s/sriov_numvfs = %d\n", card->directory, card->address, card->nvfs);
		for (int i = 0; i < nparents(c); i++)
			start_parent(c, i);
		write_counts(c);
	}
}

struct fake_device *fake_device(const char *uuid)
{
	for (int i = 0; i < FAKE_DEVICES; i++)
		if (*uuid && strcmp(fake->devices[i].uuid, uuid) == 0)
			return &fake->devices[i];
	return NULL;
}

bool fake_taken(const char *uuid)
{
	for (int i = 0; i < fake->nlate; i++)
		if (strcmp(fake->late[i].uuid, uuid) == 0)
			return true;
	return fake_device(uuid) != NULL;
}

int fake_make(const char *parent, const char *type, const char *uuid, bool half, struct fake_device **out)
{
	int card = find_parent(parent), t = 0;
	const struct fake_card *c = &fake_cards[card];
	struct fake_device *d;

	if (card < 0)
		return -ENOENT;
	while (t < FAKE_TYPES && (!c->types[t].id || strcmp(c->types[t].id, type) != 0))
		t++;
	if (t == FAKE_TYPES)
		return -ENOENT;
	if (fake_taken(uuid))
		return -EEXIST;
	if (fake_free(card, t) < 1 || (c->nvfs && parent_is_taken(parent)))
		return -ENOSPC;
	for (d = fake->devices; *d->uuid; d++)
		;
	*d = (struct fake_device){
		.card = card, .type = t, .group = ++fake->ngroups, .made_ms = fake->now_ms, .since_ms = fake->now_ms
	};
	snprintf(d->uuid, sizeof(d->uuid), "%s", uuid);
	snprintf(d->parent, sizeof(d->parent), "%s", parent);
	add("sys/devices/%1$s/%2$s/%3$s/remove = \n"
	    "sys/bus/mdev/devices/%3$s -> ../../../devices/%1$s/%2$s/%3$s\n",
	    c->directory, parent, uuid);
	if (!half)
		add("sys/devices/%1$s/%2$s/%3$s/mdev_type -> ../mdev_supported_types/%4$s\n"
		    "sys/devices/%1$s/%2$s/%3$s/iommu_group -> ../../../../kernel/iommu_groups/%5$d\n"
		    "dev/vfio/%5$d = \n"
		    "sys/class/vfio/%5$d/dev = " FAKE_VFIO ":%5$d\n",
		    c->directory, parent, uuid, type, d->group);
	write_counts(card);
	if (out)
		*out = d;
	return 0;
}

void fake_unmake(struct fake_device *d)
{
	char path[256];
	int n = snprintf(path, sizeof(path), "sys/devices/%s/%s/%s", fake_cards[d->card].directory, d->parent, d->uuid);

	for (const char *const *f = (const char *const[]){ "/remove", "/mdev_type", "/iommu_group", NULL }; *f; f++) {
		snprintf(path + n, sizeof(path) - (size_t)n, "%s", *f);
		drop(path);
	}
	path[n] = '\0';
	unlinkat(host_tree->host.root, path, AT_REMOVEDIR);
	snprintf(path, sizeof(path), "sys/bus/mdev/devices/%s", d->uuid);
	drop(path);
	snprintf(path, sizeof(path), "dev/vfio/%d", d->group);
	drop(path);
	snprintf(path, sizeof(path), "sys/class/vfio/%d/dev", d->group);
	drop(path);
	*strrchr(path, '/') = '\0';
	unlinkat(host_tree->host.root, path, AT_REMOVEDIR);
	d->uuid[0] = '\0';
	write_counts(d->card);
}

int fake_create(const char *parent, const char *type, const char *uuid)
{
	return fake_make(parent, type, uuid, false, NULL);
}

int fake_remove(const char *uuid)
{
	struct fake_device *d = fake_device(uuid);

	if (!d)
		return -ENOENT;
	if (d->opener)
		return -EBUSY;
	fake_unmake(d);
	return 0;
}

void fake_open(struct fake_device *d, int pid)
{
	if (d->opener)
		return;
	d->opener = pid;
	add("proc/%d/fd/%d -> /dev/vfio/%d\n", pid, d->group, d->group);
}

void fake_close(struct fake_device *d)
{
	char path[64];

	if (!d->opener)
		return;
	snprintf(path, sizeof(path), "proc/%d/fd/%d", d->opener, d->group);
	drop(path);
	/* The process goes with the last that it has open. */
	*strrchr(path, '/') = '\0';
	if (unlinkat(host_tree->host.root, path, AT_REMOVEDIR) == 0) {
		*strrchr(path, '/') = '\0';
		unlinkat(host_tree->host.root, path, AT_REMOVEDIR);
	}
	d->opener = 0;
}
