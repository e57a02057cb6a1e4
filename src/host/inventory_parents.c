/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The inventory's parents, the vGPUs that are on them, and the order of it all. */
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

int inv_by_name(const void *a, const void *b)
{
	/* The name is the first member: see the promise in the header. */
	return strcmp(a, b);
}

int inv_read_parents(struct inv_reader *reader, struct err *err)
{
	struct inventory *inv = reader->inv;
	const struct dirent *e;

	while ((e = sys_next(reader->list))) {
		struct inv_parent p = { .pgpu = UNKNOWN };

		/* The name becomes a path again: only one that is written as the kernel writes it is taken. */
		if (!parent_parse(p.name, e->d_name) || strcmp(p.name, e->d_name) != 0)
			continue;
		inv_append(&inv->parents, &inv->nparents, &p, sizeof(p));
	}
	if (errno)
		return err_sys(err, errno, "%s/sys/class/mdev_bus", reader->host->name);
	inv_sort_parents(inv);
	return 0;
}

/* The last-but-one component of where the device's link points is its parent. */
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

static void place_device(struct inventory *inv, struct inv_device *device)
{
	struct inv_parent *p = NULL;

	device->parent = UNKNOWN;
	if (inv->nparents)
		p = bsearch(device->vgpu.parent, inv->parents, inv->nparents, sizeof(*p), inv_by_name);
	if (!p)
		return;
	device->parent = (int)(p - inv->parents);
	p->ndevices++;
}

void inv_sort_parents(struct inventory *inv)
{
	if (inv->nparents)
		qsort(inv->parents, inv->nparents, sizeof(*inv->parents), inv_by_name);
	for (size_t i = 0; i < inv->nparents; i++)
		inv->parents[i].ndevices = 0;
	for (size_t i = 0; i < inv->ndevices; i++)
		place_device(inv, &inv->devices[i]);
}

static int by_id(const void *a, const void *b)
{
	return strcmp(((const struct inv_device *)a)->vgpu.id, ((const struct inv_device *)b)->vgpu.id);
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
		struct inv_device device = { .parent = UNKNOWN, .node = e->d_ino };
		char path[ID_SIZE + 16], type[TYPE_SIZE];

		if (!uuid_parse(device.vgpu.id, e->d_name) || strcmp(device.vgpu.id, e->d_name) != 0)
			continue;
		/* Gone since it was listed: it is not there. */
		if (!device_parent(device.vgpu.parent, sys_list_fd(d), device.vgpu.id))
			continue;
		snprintf(path, sizeof(path), "%s/mdev_type", device.vgpu.id);
		if (sys_link(sys_list_fd(d), path, type, sizeof(type)) < 0 || !type_parse(device.vgpu.type, type))
			device.vgpu.type[0] = '\0';
		place_device(inv, &device);
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
	/* The directory of a VF is older than the type that was set on it. */
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

struct place {
	const struct inv_pgpu *item;
	int was;
};

static int by_pgpu_address(const void *a, const void *b)
{
	const struct inv_pgpu *x = ((const struct place *)a)->item, *y = ((const struct place *)b)->item;

	return strcmp(x->address, y->address);
}

/* Sorts the pGPUs by address; now[i] is where number i went. */
static void order_pgpus(struct inventory *inv, int *now)
{
	autofree struct place *places = mem_new(inv->npgpus + 1, sizeof(*places));
	autofree struct inv_pgpu *sorted = mem_new(inv->npgpus + 1, sizeof(*sorted));
	int first = 0;

	for (size_t i = 0; i < inv->npgpus; i++)
		places[i] = (struct place){ .item = &inv->pgpus[i], .was = (int)i };
	qsort(places, inv->npgpus, sizeof(*places), by_pgpu_address);
	for (size_t i = 0; i < inv->npgpus; i++) {
		sorted[i] = inv->pgpus[places[i].was];
		now[places[i].was] = (int)i;
		sorted[i].first = first;
		first += sorted[i].nparents;
	}
	free(inv->pgpus);
	inv->pgpus = steal_ptr(&sorted);
}

void inv_order(struct inv_reader *reader)
{
	struct inventory *inv = reader->inv;
	autofree struct inv_parent *sorted = mem_new(inv->nparents + 1, sizeof(*sorted));
	/* Where each pGPU and each parent went, and how many parents each pGPU has so far. */
	autofree int *pgpu = mem_new(2 * inv->npgpus + inv->nparents + 1, sizeof(*pgpu));
	int *used = pgpu + inv->npgpus, *parent = used + inv->npgpus;

	order_pgpus(inv, pgpu);
	/* The parents are sorted by name: each takes the next place of its pGPU. */
	for (size_t i = 0; i < inv->nparents; i++) {
		int g = pgpu[inv->parents[i].pgpu];

		parent[i] = inv->pgpus[g].first + used[g]++;
		sorted[parent[i]] = inv->parents[i];
		sorted[parent[i]].pgpu = g;
	}
	free(inv->parents);
	inv->parents = steal_ptr(&sorted);
	for (size_t i = 0; i < inv->ndevices; i++)
		if (inv->devices[i].parent != UNKNOWN)
			inv->devices[i].parent = parent[inv->devices[i].parent];
}
