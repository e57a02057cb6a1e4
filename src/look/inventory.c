/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reads the inventory, finds entries in it, and asks the kernel about single vGPUs. */
#include "look/inventory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>

#include "base/mem.h"
#include "internal.h"
#include "look/pool.h"
#include "sys/timed_child.h"

#define NODES "sys/devices/system/node"

enum { LOOK_MS = 2 * BOUNDED_ANSWER_MS, LEAST_MS = 20, ARENA_SIZE = 64 << 20 };

const char *const inv_no_types[1] = { NULL };

const struct framework_ops *const framework_ops[FW_VF + 1] = { &framework_mdev, &framework_variant, &framework_vf };

void *inv_add(void *list, size_t *n, const void *item, size_t size)
{
	void *copy = memcpy(mem_alloc(size), item, size);

	*(void **)mem_add(list, n, sizeof(copy)) = copy;
	return copy;
}

/* The kernel's sample devices count as GPUs. Other virtual parents, such as Hygon's crypto engines (hct), do not. */
static bool is_sample(const char *name)
{
	return strcmp(name, "mtty") == 0 || strcmp(name, "mdpy") == 0 || strcmp(name, "mbochs") == 0;
}

struct inv_pgpu inv_new_pgpu(const char *address)
{
	struct inv_pgpu fresh = { .numa = UNKNOWN, .gpu = is_sample(address), .ready = true };

	text_copy(fresh.address, sizeof(fresh.address), address);
	return fresh;
}

struct inv_pgpu *inv_add_pgpu(struct inventory *inv, const char *address)
{
	struct inv_pgpu fresh = inv_new_pgpu(address);

	return inv_add(&inv->pgpus, &inv->npgpus, &fresh, sizeof(fresh));
}

void inv_not_ready(struct inv_pgpu *pgpu, const char *fmt, ...)
{
	va_list ap;

	if (!pgpu->ready)
		return;
	pgpu->ready = false;
	va_start(ap, fmt);
	vsnprintf(pgpu->reason, sizeof(pgpu->reason), fmt, ap);
	va_end(ap);
}

const char *inv_describe(int code)
{
	return code == EINVAL ? "not a number" : err_describe(code);
}

struct inv_parent *inv_find_parent(struct inv_parent *const *parents, size_t n, const char *name)
{
	struct inv_parent *const *found = n ? bsearch(&name, parents, n, sizeof(*found), text_order_at) : NULL;

	return found ? *found : NULL;
}

void inv_silent(struct inv_pgpu *pgpu)
{
	pgpu->silent = true;
	inv_not_ready(pgpu, "its driver does not answer reads of sysfs; see dmesg");
}

static void read_driver(struct inv_reader *reader)
{
	struct inventory *inv = reader->inv;
	char version[sizeof(inv->nvidia_driver)];

	for (size_t i = 0; i < inv->npgpus && !*inv->nvidia_driver; i++)
		if (inv->pgpus[i]->nvidia &&
		    sys_read(reader->host->root, "sys/module/nvidia/version", version, sizeof(version)) > 0)
			text_cut(inv->nvidia_driver, sizeof(inv->nvidia_driver), version);
}

static int by_place(const void *a, const void *b)
{
	const struct inv_parent *x = *(struct inv_parent *const *)a, *y = *(struct inv_parent *const *)b;
	int r = x->card == y->card ? 0 : strcmp(x->card->address, y->card->address);

	return r ? r : strcmp(x->name, y->name);
}

/* Sorts the lists, and completes what refers to other lists. */
static void order(struct inventory *inv)
{
	mem_sort(inv->devices, inv->ndevices, sizeof(*inv->devices), text_order);
	mem_sort(inv->pgpus, inv->npgpus, sizeof(struct inv_pgpu *), text_order_at);
	mem_sort(inv->pci, inv->npci, sizeof(struct inv_pgpu *), text_order_at);
	mem_sort(inv->parents, inv->nparents, sizeof(struct inv_parent *), by_place);
	for (size_t i = 0; i < inv->nparents; i++) {
		struct inv_pgpu *card = inv->parents[i]->card;

		if (card->nparents++ == 0)
			card->parents = &inv->parents[i];
		card->nvfs += card->sriov && strcmp(inv->parents[i]->name, card->address) != 0;
	}
	for (EACH(struct inv_device *, d, inv->devices, inv->ndevices))
		text_copy(d->vgpu.pgpu, sizeof(d->vgpu.pgpu), d->parent ? d->parent->card->address : d->vgpu.parent);
}

static void ask(struct inv_reader *reader, struct inv_pgpu *card, size_t step)
{
	if (card->nparents && framework_ops[card->framework]->ask[step])
		framework_ops[card->framework]->ask[step](reader, card);
}

/* Runs in a timed child, which inherits only the descriptor of the host's root. */
static int read_all(void *arg, struct err *err)
{
	struct inv_reader *reader = arg;
	unsigned int frameworks = reader->query->frameworks;
	autoclosedir DIR *bus = NULL;

	if (frameworks & INV_MDEV && host_list(&bus, reader->host, "sys/class/mdev_bus", err) < 0)
		return -err->code;
	reader->bus = bus;
	if ((frameworks & INV_MDEV && inv_read_mdevs(reader, err) < 0) || inv_read_pci(reader, err) < 0)
		return -err->code;
	order(reader->inv);
	read_driver(reader);
	for (size_t step = 0; step < ASK_STEPS; step++)
		for (size_t g = 0; g < reader->inv->npgpus; g++)
			ask(reader, reader->inv->pgpus[g], step);
	return 0;
}

int inventory_read(struct inventory *inv, const struct host *host, const struct inv_query *query, struct err *err)
{
	int left = LOOK_MS, tries = 0, r;

	/* A silent driver uses up half of the remaining time. The next attempt does not ask that driver. */
	do {
		struct arena *arena = mem_arena(ARENA_SIZE);
		struct inv_reader reader = { .inv = mem_take(arena, sizeof(*inv)), .host = host, .query = query };

		left /= 2;
		*reader.inv = (struct inventory){ .frameworks = query->frameworks, .arena = arena };
		r = timed_child_look(read_all, &reader, arena, host->root, left > LEAST_MS ? left : LEAST_MS, err);
		*inv = *reader.inv;
		if (r < 0)
			inventory_free(inv);
	} while (r == -ETIMEDOUT && ++tries <= TIMED_CHILD_SILENT_MAX);
	if (r == 0 && query->config)
		pool_make(inv, query->config);
	return r;
}

void inventory_free(struct inventory *inv)
{
	mem_arena_end(inv->arena);
	*inv = (struct inventory){ 0 };
}

struct vgpu_ref kernel_vgpu(const char *id)
{
	char uuid[UUID_SIZE];
	struct vgpu_ref vgpu = { .framework = uuid_parse(uuid, id) ? FW_MDEV : FW_VARIANT };

	text_copy(vgpu.id, sizeof(vgpu.id), id);
	return vgpu;
}

void kernel_card(char card[PARENT_SIZE], const struct host *host, const struct vgpu_ref *vgpu)
{
	const char *parent = *vgpu->parent ? vgpu->parent : vgpu->id;

	if (*vgpu->pgpu || !inventory_physfn(host, parent, card))
		text_copy(card, PARENT_SIZE, *vgpu->pgpu ? vgpu->pgpu : parent);
}

bool kernel_is_read_only(const struct host *host)
{
	autoclose int sys = openat(host->libvirt, "sys", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct statvfs fs;

	return sys >= 0 && fstatvfs(sys, &fs) == 0 && fs.f_flag & ST_RDONLY;
}

int kernel_exists(const struct host *host, const struct vgpu_ref *vgpu)
{
	const struct framework_ops *ops = framework_of(vgpu);
	char type[TYPE_SIZE];
	struct err ignored;
	int r = ops->look(host, vgpu, type, &ignored);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	return !ops->keeps_id || !*vgpu->type || strcmp(type, vgpu->type) == 0;
}

int inventory_path(char path[VGPU_PATH_SIZE], const char *id, const char *behind, struct err *err)
{
	char safe[ID_SIZE], uuid[UUID_SIZE];

	if (!id_parse(safe, id))
		return err_set(err, EINVAL, "'%s' is neither a UUID nor a PCI address", id);
	snprintf(path, VGPU_PATH_SIZE, "sys/bus/%s/devices/%s%s", uuid_parse(uuid, safe) ? "mdev" : "pci", safe,
		 behind);
	return 0;
}

int inventory_open(const struct host *host, const char *id)
{
	char path[VGPU_PATH_SIZE];
	struct err ignored;
	int r = inventory_path(path, id, "", &ignored);

	return r < 0 ? r : sys_dir(host->root, path);
}

bool inventory_next_name(DIR *d, bool (*parse)(char *, const char *), char *name)
{
	const struct dirent *e;

	while ((e = sys_next(d)))
		if (parse(name, e->d_name) && strcmp(name, e->d_name) == 0)
			return true;
	return false;
}

const struct inv_device *inventory_device(const struct inventory *inv, const char *id)
{
	return inv->ndevices ? bsearch(id, inv->devices, inv->ndevices, sizeof(*inv->devices), text_order) : NULL;
}

const struct inv_device *inventory_next_on(const struct inventory *inv, const struct inv_pgpu *card,
					   const struct inv_device *last)
{
	for (const struct inv_device *d = last ? last + 1 : inv->devices; d && d < inv->devices + inv->ndevices; d++)
		if (inventory_card_of(d) == card)
			return d;
	return NULL;
}

enum presence inventory_presence(const struct inventory *inv, const struct host *host, const struct vgpu_ref *vgpu)
{
	/* The type of a VF is read from its driver, which may hang, and then delay those who need no VF. */
	bool unread = vgpu->framework == FW_VARIANT && !(inv->frameworks & INV_VARIANT);
	/* The vGPU may be newer than the inventory, or its VF's type could not be read, so ask the kernel. */
	int r = inventory_device(inv, vgpu->id) ? 1 : unread ? -EAGAIN : kernel_exists(host, vgpu);

	return r < 0 ? PRESENCE_UNKNOWN : r ? PRESENT : ABSENT;
}

struct inv_type *inventory_type(const struct inventory *inv, const struct inv_pgpu *card, const char *id)
{
	for (size_t i = 0; i < inv->ntypes; i++)
		if (strcmp(inv->types[i]->id, id) == 0 && (!card || inventory_type_is_of(inv->types[i], card)))
			return inv->types[i];
	return NULL;
}

struct inv_pgpu *inventory_pgpu(const struct inventory *inv, const char *address)
{
	/* Search backwards: while cards are read, the next VF usually belongs to the card that was added last. */
	for (size_t i = inv->npgpus; i-- > 0;)
		if (strcmp(inv->pgpus[i]->address, address) == 0)
			return inv->pgpus[i];
	return NULL;
}

struct inv_parent *inventory_parent(const struct inventory *inv, const char *name)
{
	struct inv_parent *found = NULL;

	for (size_t i = 0; i < inv->npgpus && !found; i++)
		found = inv_find_parent(inv->pgpus[i]->parents, (size_t)inv->pgpus[i]->nparents, name);
	return found;
}

const struct inv_offer *inventory_offer(const struct inv_pgpu *card, const char *type)
{
	for (size_t i = 0; card && i < card->noffers; i++)
		if (strcmp(card->offers[i].type->id, type) == 0)
			return &card->offers[i];
	return NULL;
}

const char *inventory_offered(const struct inv_pgpu *card)
{
	for (size_t i = 0; i < card->noffers; i++)
		if (card->offers[i].available > 0)
			return card->offers[i].type->id;
	return NULL;
}

uint64_t inventory_cpu_nodes(const struct host *host, const uint64_t cpus[CPU_WORDS])
{
	autoclosedir DIR *d = sys_list(host->root, NODES);
	const struct dirent *e;
	uint64_t nodes = 0;

	while ((e = sys_next(d))) {
		uint64_t there[CPU_WORDS] = { 0 };
		char path[64], list[4096];
		bool overlap = false;
		long node;

		if (strncmp(e->d_name, "node", 4) != 0 || !text_number(e->d_name + 4, 0, 63, &node))
			continue;
		snprintf(path, sizeof(path), "node%ld/cpulist", node);
		if (sys_read(sys_list_fd(d), path, list, sizeof(list)) <= 0 || !text_cpuset(list, there, CPUS_MAX))
			continue;
		for (size_t i = 0; i < CPU_WORDS; i++)
			overlap |= (cpus[i] & there[i]) != 0;
		nodes |= (uint64_t)overlap << node;
	}
	return nodes;
}

bool inventory_has_node(const struct host *host, int node)
{
	char path[64];

	snprintf(path, sizeof(path), NODES "/node%d", node);
	return sys_exists(host->root, path) || (node == 0 && !sys_exists(host->root, NODES));
}
