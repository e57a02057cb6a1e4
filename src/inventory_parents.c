/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The inventory's parents, grouped into pGPUs, and the vGPUs that are on them. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "auto.h"
#include "file.h"
#include "inventory_parts.h"
#include "text.h"

int inv_by_name(const void *a, const void *b)
{
	/* The name is the first member: see the promise in the header. */
	return strcmp(a, b);
}

/* One of the readers' folders as a stream of its own. */
static DIR *list(int dir)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);

	if (!d && fd >= 0)
		close(fd);
	return d;
}

int inv_read_parents(struct inv_reader *reader, struct err *err)
{
	struct inventory *inv = reader->inv;
	const struct dirent *e;
	int r;

	if (reader->bus < 0)
		return 0;
	autoclosedir DIR *d = list(reader->bus);
	if (!d)
		return err_sys(err, errno, "%s/sys/class/mdev_bus", reader->host->name);
	while ((errno = 0, e = readdir(d))) {
		struct inv_parent p = { .pgpu = UNKNOWN };

		/* The name becomes a path again: only one that is written as the kernel writes it is taken. */
		if (!parent_parse(p.name, e->d_name) || strcmp(p.name, e->d_name) != 0)
			continue;
		r = inv_room(&inv->parents, inv->nparents, sizeof(p), err);
		if (r < 0)
			return r;
		inv->parents[inv->nparents++] = p;
	}
	if (errno)
		return err_sys(err, errno, "%s/sys/class/mdev_bus", reader->host->name);
	if (inv->nparents)
		qsort(inv->parents, inv->nparents, sizeof(*inv->parents), inv_by_name);
	return 0;
}

static void read_hex(char out[5], int dir, const char *path)
{
	char text[16];

	if (file_read(dir, path, text, sizeof(text)) == 6 && text[0] == '0' && text[1] == 'x' &&
	    strspn(text + 2, "0123456789abcdef") == 4)
		memcpy(out, text + 2, 5);
}

void inv_read_card(struct inv_pgpu *pgpu, int dir)
{
	char text[16], pci[PCI_SIZE];
	long n;

	pgpu->numa = UNKNOWN;
	if (dir < 0 || !pci_parse(pci, pgpu->address))
		return;
	read_hex(pgpu->vendor, dir, "vendor");
	read_hex(pgpu->device, dir, "device");
	pgpu->nvidia = strcmp(pgpu->vendor, "10de") == 0;
	if (file_read(dir, "numa_node", text, sizeof(text)) > 0 && text_number(text, 0, INT_MAX, &n))
		pgpu->numa = (int)n;
}

/* The index of the pGPU, which is added where it is new; `hint` is where it most likely is. */
static int pgpu_at(struct inventory *inv, const char *address, int hint, struct err *err)
{
	struct inv_pgpu fresh = { .framework = FW_MDEV, .numa = UNKNOWN, .ready = true };
	int r;

	if (hint >= 0 && strcmp(inv->pgpus[hint].address, address) == 0)
		return hint;
	for (size_t i = 0; i < inv->npgpus; i++)
		if (strcmp(inv->pgpus[i].address, address) == 0)
			return (int)i;
	text_copy(fresh.address, sizeof(fresh.address), address);
	r = inv_room(&inv->pgpus, inv->npgpus, sizeof(fresh), err);
	if (r < 0)
		return r;
	inv->pgpus[inv->npgpus] = fresh;
	return (int)inv->npgpus++;
}

static bool routing_id(const char *address, char domain[PCI_SIZE], unsigned *id)
{
	unsigned bus, slot, function;

	if (sscanf(address, "%8[0-9a-f]:%x:%x.%x", domain, &bus, &slot, &function) != 4)
		return false;
	*id = bus << 8 | slot << 3 | function;
	return true;
}

static bool read_virtfn(char out[PCI_SIZE], int card, long n)
{
	char path[32], base[PCI_SIZE];

	snprintf(path, sizeof(path), "virtfn%ld", n);
	return file_link_base(card, path, base, sizeof(base)) == 0 && pci_parse(out, base) && strcmp(out, base) == 0;
}

/*
 * The card's first and last VF, where every address between them is a VF of this card: then a look at two of its
 * virtfn links says what physfn of each VF would. The kernel numbers VFs at equal steps (SR-IOV: First VF Offset, VF
 * Stride), so that n VFs in n consecutive addresses leave no room for another device. Where the steps are larger the
 * answer is no.
 */
static bool dense_vfs(char first[PCI_SIZE], char last[PCI_SIZE], int card, long n)
{
	char domain[PCI_SIZE], other[PCI_SIZE];
	unsigned a, b;

	return n > 1 && read_virtfn(first, card, 0) && read_virtfn(last, card, n - 1) &&
	       routing_id(first, domain, &a) && routing_id(last, other, &b) && strcmp(domain, other) == 0 && b > a &&
	       b - a + 1 == (unsigned)n;
}

/*
 * A pGPU whose VF `i` is the first that was met: reads the card, and gives it those of its VFs that can be told at
 * once.
 */
static void read_sriov(struct inv_reader *reader, size_t i, int g)
{
	struct inventory *inv = reader->inv;
	struct inv_pgpu *pgpu = &inv->pgpus[g];
	char path[INV_PATH_SIZE], text[16], first[PCI_SIZE], last[PCI_SIZE];
	long n;

	pgpu->sriov = true;
	snprintf(path, sizeof(path), "%s/physfn", inv->parents[i].name);
	autoclose int card = openat(reader->bus, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	inv_read_card(pgpu, card);
	if (card < 0) {
		inv_not_ready(pgpu, "it cannot be opened: %s", strerrordesc_np(errno));
		return;
	}
	if (file_read(card, "sriov_numvfs", text, sizeof(text)) <= 0 || !text_number(text, 1, 65535, &n))
		return;
	pgpu->nvfs = (int)n;
	if (!dense_vfs(first, last, card, n))
		return;
	for (; i < inv->nparents && strcmp(inv->parents[i].name, last) <= 0; i++)
		if (strcmp(inv->parents[i].name, first) >= 0)
			inv->parents[i].pgpu = g;
}

/* A parent that is no VF is a pGPU of its own. */
static void read_plain(struct inv_reader *reader, const char *name, int g)
{
	autoclose int card = openat(reader->bus, name, O_PATH | O_DIRECTORY | O_CLOEXEC);

	inv_read_card(&reader->inv->pgpus[g], card);
	if (card < 0)
		inv_not_ready(&reader->inv->pgpus[g], "it cannot be opened: %s", strerrordesc_np(errno));
}

/* Is the parent a VF? 1 and its card in `physfn`, 0, or negative where that cannot be told. */
static int find_physfn(char physfn[PCI_SIZE], const struct inv_reader *reader, const char *name)
{
	char path[INV_PATH_SIZE], base[PCI_SIZE], pci[PCI_SIZE];
	int r;

	if (!pci_parse(pci, name))
		return 0;
	snprintf(path, sizeof(path), "%s/physfn", name);
	r = file_link_base(reader->bus, path, base, sizeof(base));
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	return pci_parse(physfn, base) && strcmp(physfn, base) == 0 ? 1 : -EINVAL;
}

int inv_group(struct inv_reader *reader, struct err *err)
{
	struct inventory *inv = reader->inv;
	int hint = UNKNOWN;

	for (size_t i = 0; i < inv->nparents; i++) {
		const char *name = inv->parents[i].name;
		size_t had = inv->npgpus;
		char physfn[PCI_SIZE];
		int vf, g;

		if (inv->parents[i].pgpu != UNKNOWN)
			continue;
		vf = find_physfn(physfn, reader, name);
		g = pgpu_at(inv, vf == 1 ? physfn : name, hint, err);
		if (g < 0)
			return g;
		inv->parents[i].pgpu = hint = g;
		if (vf == 1 && !inv->pgpus[g].sriov)
			read_sriov(reader, i, g);
		else if (inv->npgpus > had)
			read_plain(reader, name, g);
		if (vf < 0)
			inv_not_ready(&inv->pgpus[g], "its physfn cannot be read: %s", strerrordesc_np(-vf));
	}
	for (size_t i = 0; i < inv->nparents; i++)
		inv->pgpus[inv->parents[i].pgpu].nparents++;
	/* Without sriov_numvfs, what is registered is what is known. */
	for (size_t g = 0; g < inv->npgpus; g++)
		if (inv->pgpus[g].sriov && inv->pgpus[g].nvfs == 0)
			inv->pgpus[g].nvfs = inv->pgpus[g].nparents;
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
		p = bsearch(device->parent_name, inv->parents, inv->nparents, sizeof(*p), inv_by_name);
	if (!p)
		return;
	device->parent = (int)(p - inv->parents);
	p->ndevices++;
}

static int by_id(const void *a, const void *b)
{
	return strcmp(((const struct inv_device *)a)->id, ((const struct inv_device *)b)->id);
}

int inv_read_devices(struct inv_reader *reader, struct err *err)
{
	struct inventory *inv = reader->inv;
	const struct dirent *e;
	int r, fd = file_dir(reader->host->root, "sys/bus/mdev/devices");

	if (fd == -ENOENT)
		return 0;
	autoclosedir DIR *d = fd < 0 ? NULL : fdopendir(fd);
	if (!d)
		return err_sys(err, fd < 0 ? -fd : errno, "%s/sys/bus/mdev/devices", reader->host->name);
	while ((errno = 0, e = readdir(d))) {
		struct inv_device device = { .parent = UNKNOWN };
		char path[ID_SIZE + 16], type[TYPE_SIZE];

		if (!uuid_parse(device.id, e->d_name) || strcmp(device.id, e->d_name) != 0)
			continue;
		/* Gone since it was listed: it is not there. */
		if (!device_parent(device.parent_name, fd, device.id))
			continue;
		snprintf(path, sizeof(path), "%s/mdev_type", device.id);
		if (file_link_base(fd, path, type, sizeof(type)) < 0 || !type_parse(device.type, type))
			device.type[0] = '\0';
		r = inv_room(&inv->devices, inv->ndevices, sizeof(device), err);
		if (r < 0)
			return r;
		place_device(inv, &device);
		inv->devices[inv->ndevices++] = device;
	}
	if (errno)
		return err_sys(err, errno, "%s/sys/bus/mdev/devices", reader->host->name);
	if (inv->ndevices)
		qsort(inv->devices, inv->ndevices, sizeof(*inv->devices), by_id);
	return 0;
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
static int order_pgpus(struct inventory *inv, int *now, struct err *err)
{
	autofree struct place *places = calloc(inv->npgpus + 1, sizeof(*places));
	autofree struct inv_pgpu *sorted = calloc(inv->npgpus + 1, sizeof(*sorted));
	int first = 0;

	if (!places || !sorted)
		return err_sys(err, ENOMEM, "reading the inventory");
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
	return 0;
}

int inv_order(struct inv_reader *reader, struct err *err)
{
	struct inventory *inv = reader->inv;
	autofree struct inv_parent *sorted = calloc(inv->nparents + 1, sizeof(*sorted));
	/* Where each pGPU and each parent went, and how many parents each pGPU has so far. */
	autofree int *pgpu = calloc(2 * inv->npgpus + inv->nparents + 1, sizeof(*pgpu));
	int *used, *parent, r;

	if (!pgpu || !sorted)
		return err_sys(err, ENOMEM, "reading the inventory");
	used = pgpu + inv->npgpus;
	parent = used + inv->npgpus;
	r = order_pgpus(inv, pgpu, err);
	if (r < 0)
		return r;
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
	return 0;
}
