/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reads the inventory's parents and the vGPUs on them, and sorts the inventory. */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/auto.h"
#include "base/mem.h"
#include "internal.h"
#include "base/text.h"
#include "sys/sys.h"

static int by_name(const void *a, const void *b)
{
	return strcmp((*(struct inv_parent *const *)a)->name, (*(struct inv_parent *const *)b)->name);
}

static int is_named(const void *name, const void *parent)
{
	return strcmp(name, (*(struct inv_parent *const *)parent)->name);
}

struct inv_parent *inv_find_parent(struct inv_parent *const *parents, size_t n, const char *name)
{
	struct inv_parent *const *found = n ? bsearch(name, parents, n, sizeof(*found), is_named) : NULL;

	return found ? *found : NULL;
}

void inv_sort_parents(struct inventory *inv)
{
	if (inv->nparents)
		qsort(inv->parents, inv->nparents, sizeof(struct inv_parent *), by_name);
}

int inv_read_parents(struct inv_reader *reader, struct err *err)
{
	struct inventory *inv = reader->inv;
	const struct dirent *e;

	while ((e = sys_next(reader->list))) {
		struct inv_parent p = { 0 };

		/* The name becomes part of a path, so only the kernel's own spelling is accepted. */
		if (!parent_parse(p.name, e->d_name) || strcmp(p.name, e->d_name) != 0)
			continue;
		inv_add(&inv->parents, &inv->nparents, &p, sizeof(p));
	}
	if (errno)
		return err_sys(err, errno, "%s/sys/class/mdev_bus", reader->host->name);
	inv_sort_parents(inv);
	return 0;
}

/* The parent is the last component but one of the device's link. */
static bool device_parent(char out[PARENT_SIZE], int dir, const char *name)
{
	char target[PATH_MAX], *slash;
	ssize_t n = readlinkat(dir, name, target, sizeof(target) - 1);

	if (n < 0)
		return false;
	target[n] = '\0';
	slash = strrchr(target, '/');
	if (!slash)
		return false;
	*slash = '\0';
	slash = strrchr(target, '/');
	return parent_parse(out, slash ? slash + 1 : target);
}

static int by_id(const void *a, const void *b)
{
	return strcmp(((const struct inv_device *)a)->vgpu.id, ((const struct inv_device *)b)->vgpu.id);
}

int inventory_mdevs(const struct host *host, char (**out)[ID_SIZE], size_t *n, struct err *err)
{
	const struct dirent *e;
	autoclosedir DIR *d = NULL;
	int r = host_list(&d, host, "sys/bus/mdev/devices", err);

	while (r == 0 && (e = sys_next(d))) {
		char uuid[UUID_SIZE];

		if (uuid_parse(uuid, e->d_name))
			text_copy(*(char(*)[ID_SIZE])mem_add(out, n, ID_SIZE), ID_SIZE, uuid);
	}
	return r;
}

static int read_mdevs(struct inv_reader *reader, struct err *err)
{
	struct inventory *inv = reader->inv;
	const struct dirent *e;
	autoclosedir DIR *d = NULL;
	int r = host_list(&d, reader->host, "sys/bus/mdev/devices", err);

	if (!d)
		return r;
	while ((e = sys_next(d))) {
		struct inv_device device = { .node = e->d_ino };
		char path[ID_SIZE + 16], type[TYPE_SIZE];

		if (!uuid_parse(device.vgpu.id, e->d_name) || strcmp(device.vgpu.id, e->d_name) != 0)
			continue;
		/* The device was removed after it was listed. */
		if (!device_parent(device.vgpu.parent, sys_list_fd(d), device.vgpu.id))
			continue;
		snprintf(path, sizeof(path), "%s/mdev_type", device.vgpu.id);
		if (sys_link(sys_list_fd(d), path, type, sizeof(type)) < 0 || !type_parse(device.vgpu.type, type))
			device.vgpu.type[0] = '\0';
		device.parent = inv_find_parent(inv->parents, inv->nparents, device.vgpu.parent);
		if (device.parent)
			device.parent->ndevices++;
		inv_append(&inv->devices, &inv->ndevices, &device, sizeof(device));
	}
	if (errno)
		return err_sys(err, errno, "%s/sys/bus/mdev/devices", reader->host->name);
	return 0;
}

int64_t inventory_created_ms(const struct host *host, const struct vgpu_ref *vgpu)
{
	char path[sizeof("sys/bus/mdev/devices/") + ID_SIZE];
	struct stat st;

	snprintf(path, sizeof(path), "sys/bus/mdev/devices/%s", vgpu->id);
	/* The directory of a VF is older than the type set on it, so its time is not used. */
	if (vgpu->framework != FW_MDEV || fstatat(host->root, path, &st, 0) < 0)
		return 0;
	return sys_now_ms() - sys_age_ms(&st.st_ctim);
}

int inv_read_devices(struct inv_reader *reader, struct err *err)
{
	struct inventory *inv = reader->inv;
	int r = reader->query->frameworks & INV_MDEV ? read_mdevs(reader, err) : 0;

	if (r == 0 && inv->ndevices)
		qsort(inv->devices, inv->ndevices, sizeof(*inv->devices), by_id);
	return r;
}

static int by_address(const void *a, const void *b)
{
	return strcmp((*(struct inv_pgpu *const *)a)->address, (*(struct inv_pgpu *const *)b)->address);
}

static int by_place(const void *a, const void *b)
{
	const struct inv_parent *x = *(struct inv_parent *const *)a, *y = *(struct inv_parent *const *)b;
	int r = x->card == y->card ? 0 : strcmp(x->card->address, y->card->address);

	return r ? r : strcmp(x->name, y->name);
}

void inv_order(struct inventory *inv)
{
	if (inv->npgpus)
		qsort(inv->pgpus, inv->npgpus, sizeof(struct inv_pgpu *), by_address);
	if (inv->nparents)
		qsort(inv->parents, inv->nparents, sizeof(struct inv_parent *), by_place);
	for (size_t i = 0; i < inv->nparents; i++) {
		struct inv_pgpu *card = inv->parents[i]->card;

		if (card->nparents++ == 0)
			card->parents = &inv->parents[i];
		card->nvfs += card->sriov && strcmp(inv->parents[i]->name, card->address) != 0;
	}
}
