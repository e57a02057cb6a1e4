/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Cards of NVIDIA's variant driver: their VFs, the types that are set on them, and what each card offers.
 *
 * Only a free VF is asked for its list of types, because it is not certain what a VF with a type lists. While the card
 * is in use, the list omits types; these are taken from records.
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "internal.h"
#include "base/text.h"
#include "sys/sys.h"
#include "sys/timed_child.h"
#include "host/typelist.h"

enum { TIME_SLICED_MAX = 32 };

/* Adds one VF as a parent, and also as a device if it has a type. */
static void read_vf(struct inventory *inv, struct inv_pgpu *pgpu, int card, size_t n, const char *vf)
{
	struct inv_parent parent = { .card = pgpu };
	struct inv_device device = { .vgpu.framework = FW_VARIANT };
	char path[64], text[32];
	ssize_t len;
	long number = 0;

	snprintf(path, sizeof(path), "virtfn%zu/nvidia/current_vgpu_type", n);
	len = timed_child_read(pgpu->address, card, path, text, sizeof(text));
	/* The VF is bound to another driver, because it was assigned to a guest as a plain VF. */
	if (len == -ENOENT)
		return;
	if (len == -ETIMEDOUT)
		inv_silent(pgpu);
	else if (len < 0)
		inv_not_ready(pgpu, "current_vgpu_type of a VF cannot be read: %s", err_describe((int)-len));
	else if (!text_number(text, 0, INT_MAX, &number))
		number = -1;
	if (number < 0)
		inv_not_ready(pgpu, "current_vgpu_type of a VF is not a number");
	text_copy(parent.name, sizeof(parent.name), vf);
	parent.unread = len < 0 || number < 0;
	parent.ndevices = number > 0;
	device.parent = inv_add(&inv->parents, &inv->nparents, &parent, sizeof(parent));
	if (number <= 0)
		return;
	text_copy(device.vgpu.id, sizeof(device.vgpu.id), vf);
	text_copy(device.vgpu.parent, sizeof(device.vgpu.parent), vf);
	snprintf(device.vgpu.type, sizeof(device.vgpu.type), "nvidia-%ld", number);
	/* The directory of a VF stays when its vGPU goes, so only the type distinguishes its vGPUs. */
	device.node = (uint64_t)number;
	inv_append(&inv->devices, &inv->ndevices, &device, sizeof(device));
}

/* A device of the driver. `seen`: a VF that was read with its card, and is not read again. */
struct name {
	char pci[PCI_SIZE];
	bool seen;
};

struct names {
	struct name *list;
	size_t n;
};

/* Also compares an address with a struct name, whose first member is an address. */
static int by_name(const void *a, const void *b)
{
	return strcmp(a, b);
}

static void read_names(struct names *names, DIR *dir)
{
	const struct dirent *e;

	while ((e = sys_next(dir))) {
		struct name name = { .seen = false };

		if (pci_parse(name.pci, e->d_name) && strcmp(name.pci, e->d_name) == 0)
			inv_append(&names->list, &names->n, &name, sizeof(name));
	}
	if (names->n)
		qsort(names->list, names->n, sizeof(*names->list), by_name);
}

static void pass_over(struct names *names, const char *vf)
{
	struct name *name = NULL;

	if (names->n)
		name = bsearch(vf, names->list, names->n, sizeof(*names->list), by_name);
	if (name)
		name->seen = true;
}

/* Reads a card if its VFs are of this framework; marks its VFs as seen in any case. */
static void read_card(struct inv_reader *reader, struct names *names, const char *address, int card)
{
	struct inventory *inv = reader->inv;
	struct inv_pgpu fresh = { .framework = FW_VARIANT, .numa = UNKNOWN, .ready = true, .sriov = true };
	size_t had = inv->nparents;
	struct inv_pgpu *pgpu;
	char vf[PCI_SIZE];

	text_copy(fresh.address, sizeof(fresh.address), address);
	pgpu = inv_add(&inv->pgpus, &inv->npgpus, &fresh, sizeof(fresh));
	for (size_t n = 0; n < UINT16_MAX && inv_read_virtfn(vf, card, n); n++) {
		pass_over(names, vf);
		read_vf(inv, pgpu, card, n, vf);
	}
	if (inv->nparents == had)
		mem_free(inv->pgpus[--inv->npgpus]);
	else
		inv_read_card(pgpu, card);
}

static int read_driver(struct inv_reader *reader, struct err *err)
{
	struct names names = { 0 };
	autoclosedir DIR *d = NULL;
	int r = host_list(&d, reader->host, "sys/bus/pci/drivers/nvidia", err);

	if (d)
		read_names(&names, d);
	for (size_t i = 0; i < names.n; i++) {
		const struct name *name = &names.list[i];
		autoclose int card = name->seen ? -1 : sys_dir(sys_list_fd(d), name->pci);

		if (card >= 0)
			read_card(reader, &names, name->pci, card);
	}
	mem_free(names.list);
	return r;
}

int inv_read_variant(struct inv_reader *reader, struct err *err)
{
	const char *const *cards = reader->query->cards;
	struct names none = { 0 };
	int r;

	if (!(reader->query->frameworks & INV_VARIANT))
		return 0;
	r = cards ? 0 : read_driver(reader, err);
	for (; cards && *cards; cards++) {
		autoclose int card = inv_open_card(reader->host, *cards);

		if (card >= 0)
			read_card(reader, &none, *cards, card);
	}
	inv_sort_parents(reader->inv);
	return r;
}

/* Adds the type with this number for cards of this model; a new name replaces the old one. */
static void add_type(struct inventory *inv, const struct inv_pgpu *pgpu, int number, const char *name)
{
	struct inv_type fresh = { .api = "vfio-pci", .heads = UNKNOWN, .max_instance = UNKNOWN }, *type;

	snprintf(fresh.id, sizeof(fresh.id), "nvidia-%d", number);
	type = inventory_type_on(inv, pgpu, fresh.id);
	if (type && !name)
		return;
	if (!type)
		type = inv_add_type(inv, pgpu, &fresh);
	text_copy(type->name, sizeof(type->name), name ? name : type->id);
	type->framebuffer_mib = typelist_framebuffer(type->name, &type->slices);
}

/* Reads the types that a free VF of the card lists now; none if no VF is free. */
static void read_list(struct inv_reader *reader, struct inv_pgpu *pgpu, struct typelist *list)
{
	const struct inv_parent *vf = NULL;
	char text[TYPELIST_TEXT_MAX];
	char path[128];
	ssize_t n;

	for (int i = 0; i < pgpu->nparents && !vf; i++)
		if (pgpu->parents[i]->ndevices == 0)
			vf = pgpu->parents[i];
	if (!vf)
		return;
	snprintf(path, sizeof(path), "sys/bus/pci/devices/%s/nvidia/creatable_vgpu_types", vf->name);
	n = timed_child_read(pgpu->address, reader->host->root, path, text, TYPELIST_TEXT_MAX);
	if (n == -ETIMEDOUT)
		inv_silent(pgpu);
	else if (n < 0)
		inv_not_ready(pgpu, "creatable_vgpu_types cannot be read: %s", err_describe((int)-n));
	else
		typelist_parse(list, text);
}

static bool carries(const struct inv_pgpu *pgpu)
{
	for (int i = 0; i < pgpu->nparents; i++)
		if (pgpu->parents[i]->ndevices > 0)
			return true;
	return false;
}

/* Does the list have a time-sliced type? In MIG mode even an empty card lists only types of its GPU instances. */
static bool is_time_sliced(const struct typelist *list)
{
	int slices;

	for (size_t i = 0; i < list->n; i++)
		if (typelist_framebuffer(list->items[i].name, &slices) > 0 && slices == 0)
			return true;
	return false;
}

/* Are there types of two framebuffer sizes? A card that carries a vGPU lists types of one size only. */
static bool has_sizes(const struct typelist *list)
{
	int size = 0, mib, slices;

	for (size_t i = 0; i < list->n; i++) {
		mib = typelist_framebuffer(list->items[i].name, &slices);
		if (mib <= 0 || slices)
			continue;
		if (size && mib != size)
			return true;
		size = mib;
	}
	return false;
}

/*
 * Does an empty card of this model list all types of the driver, apart from MIG-backed ones? With `surely`, ignores a
 * list that may come from a card that received a vGPU after its VFs were read.
 */
static bool is_seen_whole(const struct inventory *inv, const struct inv_pgpu *pgpu, const struct typelist *lists,
			  bool surely)
{
	for (size_t g = 0; g < inv->npgpus; g++)
		if (inv->pgpus[g]->framework == FW_VARIANT && inv_same_model(inv->pgpus[g], pgpu) &&
		    !carries(inv->pgpus[g]) && is_time_sliced(&lists[g]) && (!surely || has_sizes(&lists[g])))
			return true;
	return false;
}

/*
 * Adds the recorded types of the model. If an empty card lists all others, only the recorded MIG-backed types are
 * added, which that card cannot list.
 */
static void recall(struct inv_reader *reader, struct inv_pgpu *pgpu, const struct typelist *memory, bool seen_whole)
{
	int slices;

	for (size_t i = 0; i < memory->n; i++) {
		typelist_framebuffer(memory->items[i].name, &slices);
		if (!seen_whole || slices)
			add_type(reader->inv, pgpu, memory->items[i].number, memory->items[i].name);
	}
}

/* Adds all known types of a model: those recorded, those its cards list, and those of existing vGPUs. */
static void add_types(struct inv_reader *reader, struct inv_pgpu *pgpu, struct typelist *lists)
{
	struct inventory *inv = reader->inv;
	struct typelist memory = { 0 };
	char key[TYPELIST_KEY_SIZE];

	typelist_key(key, pgpu->vendor, pgpu->device, pgpu->subsystem, inv->nvidia_driver);
	typelist_recall(&memory, reader->host, key);
	recall(reader, pgpu, &memory, is_seen_whole(inv, pgpu, lists, true));
	pgpu->types_whole = memory.whole || is_seen_whole(inv, pgpu, lists, false);
	for (size_t g = 0; g < inv->npgpus; g++) {
		struct inv_pgpu *other = inv->pgpus[g];

		if (other->framework != FW_VARIANT || !inv_same_model(other, pgpu))
			continue;
		for (size_t i = 0; i < lists[g].n; i++) {
			const struct typelist_item *known = typelist_find(&memory, lists[g].items[i].number);

			pgpu->types_new |= !known || strcmp(known->name, lists[g].items[i].name) != 0;
			add_type(inv, pgpu, lists[g].items[i].number, lists[g].items[i].name);
		}
	}
	pgpu->types_new |= pgpu->types_whole && !memory.whole;
	for (size_t i = 0; i < memory.n; i++) {
		snprintf(key, sizeof(key), "nvidia-%d", memory.items[i].number);
		pgpu->types_new |= !inventory_type_on(inv, pgpu, key);
	}
	typelist_free(&memory);
	pgpu->types_hid = !pgpu->types_whole && carries(pgpu);
	for (const struct inv_device *d = NULL; (d = inventory_next_on(inv, pgpu, d));) {
		int number;

		if (d->vgpu.framework == FW_VARIANT && typelist_number(d->vgpu.type, &number))
			add_type(inv, pgpu, number, NULL);
	}
}

/* Until the card has been seen empty, the types that the caller names for it are assumed to exist. */
static void suppose_types(struct inv_reader *reader, struct inv_pgpu *pgpu)
{
	const struct inv_query *query = reader->query;
	const char *type;
	int number;

	for (size_t i = 0; query->names_type && pgpu->types_hid; i++) {
		type = query->names_type(query->arg, pgpu, i);
		if (!type)
			break;
		if (typelist_number(type, &number))
			add_type(reader->inv, pgpu, number, NULL);
	}
}

/* Finds a type that the card is configured to serve and that only another driver version had. */
static void find_gone(struct inv_reader *reader, struct inv_pgpu *pgpu)
{
	const struct inv_query *query = reader->query;
	const char *type;
	int number;

	for (size_t i = 0; query->names_type && pgpu->types_whole && !*pgpu->gone; i++) {
		type = query->names_type(query->arg, pgpu, i);
		if (!type)
			break;
		if (!typelist_number(type, &number) || inventory_type_on(reader->inv, pgpu, type))
			continue;
		if (typelist_other_driver(pgpu->gone_driver, reader->host, pgpu->vendor, pgpu->device, pgpu->subsystem,
					  reader->inv->nvidia_driver, number))
			text_copy(pgpu->gone, sizeof(pgpu->gone), type);
	}
}

/*
 * The largest type takes a whole card, so the framebuffer decides how many vGPUs of a type fit, but not more than 32
 * time-sliced ones (seen on an L40S with 48 GiB, 48 VFs and 1 GiB types, and on an RTX PRO 6000 with 96 GiB and 2 GiB
 * types). A driver may allow fewer: the card's list decides.
 */
static int fitting(int n, int slices)
{
	return !slices && n > TIME_SLICED_MAX ? TIME_SLICED_MAX : n;
}

static void bound_types(struct inventory *inv, const struct inv_pgpu *pgpu)
{
	int whole = 0;

	for (size_t i = 0; i < inv->ntypes; i++)
		if (inv_type_is_of(inv->types[i], pgpu) && !inv->types[i]->slices &&
		    inv->types[i]->framebuffer_mib > whole)
			whole = inv->types[i]->framebuffer_mib;
	for (size_t i = 0; i < inv->ntypes && pgpu->types_whole; i++) {
		struct inv_type *type = inv->types[i];

		if (inv_type_is_of(type, pgpu) && type->framebuffer_mib > 0)
			type->max_instance = fitting(whole / type->framebuffer_mib, type->slices);
	}
}

static void offer_types(struct inventory *inv, struct inv_pgpu *pgpu, const struct typelist *list)
{
	for (size_t i = 0; i < inv->ntypes; i++) {
		const struct inv_type *type = inv->types[i];
		int number = 0;

		if (inv_type_is_of(type, pgpu) && typelist_number(type->id, &number))
			inv_offer_type(pgpu, type, typelist_find(list, number) ? 1 : 0);
	}
}

void inv_ask_variant(struct inv_reader *reader)
{
	struct inventory *inv = reader->inv;
	autofree struct typelist *lists = NULL;

	if (!(reader->query->frameworks & INV_VARIANT))
		return;
	lists = mem_new(inv->npgpus + 1, sizeof(*lists));
	for (size_t g = 0; g < inv->npgpus; g++)
		if (inv->pgpus[g]->framework == FW_VARIANT)
			read_list(reader, inv->pgpus[g], &lists[g]);
	for (size_t g = 0; g < inv->npgpus; g++)
		if (inv->pgpus[g]->framework == FW_VARIANT)
			add_types(reader, inv->pgpus[g], lists);
	for (size_t g = 0; g < inv->npgpus; g++)
		if (inv->pgpus[g]->framework == FW_VARIANT)
			suppose_types(reader, inv->pgpus[g]);
	for (size_t g = 0; g < inv->npgpus; g++)
		if (inv->pgpus[g]->framework == FW_VARIANT)
			find_gone(reader, inv->pgpus[g]);
	for (size_t g = 0; g < inv->npgpus; g++) {
		if (inv->pgpus[g]->framework != FW_VARIANT)
			continue;
		bound_types(inv, inv->pgpus[g]);
		offer_types(inv, inv->pgpus[g], &lists[g]);
	}
	for (size_t g = 0; g < inv->npgpus; g++)
		typelist_free(&lists[g]);
}
