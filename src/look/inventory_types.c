/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reads the types of mdevs, and how many vGPUs each pGPU can create now. Lists the types of all frameworks. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "config/config.h"
#include "internal.h"
#include "base/text.h"
#include "sys/timed_child.h"
#include "look/typelist.h"

/* Parses a number of at least `least`, followed by `unit`. UNKNOWN: invalid. */
static int parse_number(char *s, long least, const char *unit)
{
	size_t digits = strspn(s, "0123456789");
	long n;

	if (strcmp(s + digits, unit) != 0)
		return UNKNOWN;
	s[digits] = '\0';
	return text_number(s, least, INT_MAX, &n) ? (int)n : UNKNOWN;
}

/*
 * NVIDIA's descriptions are "num_heads=4, frl_config=60, framebuffer=1024M, max_resolution=5120x2880, max_instance=16".
 * GVT-g has lines such as "resolution: 1920x1200"; low_gm_size and high_gm_size are apertures, not framebuffer. Other
 * drivers write prose or nothing.
 */
void inv_parse_description(struct inv_type *type, char *text)
{
	char *item;

	while ((item = text_next(&text, ",\n"))) {
		char *value = item + strcspn(item, "=:");
		int end = 0;

		if (!*value)
			continue;
		*value++ = '\0';
		item = text_strip(item);
		value = text_strip(value);
		if (strcmp(item, "framebuffer") == 0)
			type->framebuffer_mib = parse_number(value, 1, "M");
		else if (strcmp(item, "num_heads") == 0)
			type->heads = parse_number(value, 0, "");
		else if (strcmp(item, "max_instance") == 0)
			type->max_instance = parse_number(value, 0, "");
		else if ((strcmp(item, "max_resolution") == 0 || strcmp(item, "resolution") == 0) &&
			 sscanf(value, "%*[0-9]x%*[0-9]%n", &end) == 0 && end && !value[end])
			text_copy(type->resolution, sizeof(type->resolution), value);
	}
}

static ssize_t read_type(const char *card, int dir, const char *type, const char *attribute, char *buf, size_t size)
{
	char path[TYPE_SIZE + 64];

	snprintf(path, sizeof(path), "mdev_supported_types/%s/%s", type, attribute);
	return timed_child_read(card, dir, path, buf, size);
}

/* Lists the type IDs of a parent in order. 0: there are none, or they cannot be listed. */
static size_t list_types(char (**ids)[TYPE_SIZE], int dir)
{
	autoclosedir DIR *d = sys_list(dir, "mdev_supported_types");
	char id[TYPE_SIZE];
	size_t n = 0;

	*ids = NULL;
	while (inventory_next_name(d, type_parse, id))
		memcpy(mem_add(ids, &n, sizeof(id)), id, sizeof(id));
	mem_sort(*ids, n, sizeof(**ids), typelist_order);
	return n;
}

bool inventory_type_is_of(const struct inv_type *type, const struct inv_pgpu *pgpu)
{
	return type->framework == pgpu->framework && strcmp(type->device, pgpu->device) == 0 &&
	       strcmp(type->vendor, pgpu->vendor) == 0 && strcmp(type->subsystem, pgpu->subsystem) == 0;
}

struct inv_type *inv_find_type(struct inventory *inv, const struct inv_pgpu *pgpu, const char *id)
{
	struct inv_type *known = inventory_type(inv, pgpu, id), fresh = { .framework = pgpu->framework };

	if (known)
		return known;
	text_copy(fresh.id, sizeof(fresh.id), id);
	memcpy(fresh.vendor, pgpu->vendor, sizeof(fresh.vendor));
	memcpy(fresh.device, pgpu->device, sizeof(fresh.device));
	memcpy(fresh.subsystem, pgpu->subsystem, sizeof(fresh.subsystem));
	fresh.framebuffer_mib = fresh.heads = fresh.max_instance = UNKNOWN;
	return inv_add(&inv->types, &inv->ntypes, &fresh, sizeof(fresh));
}

void inv_offer_type(struct inv_pgpu *pgpu, const struct inv_type *type, int available)
{
	const struct inv_offer offer = { .type = type, .available = available };

	*(struct inv_offer *)mem_add(&pgpu->offers, &pgpu->noffers, sizeof(offer)) = offer;
}

/*
 * Finds the type `id` of the pGPU's model. An ID means one type on a model, so the type is read once, from the parent
 * in `dir`. `named`: reads only the name, from the first card that answers.
 */
static const struct inv_type *type_at(struct inventory *inv, const struct inv_pgpu *pgpu, int dir, const char *id,
				      bool named)
{
	struct inv_type *type = inv_find_type(inv, pgpu, id);
	char text[1024];
	ssize_t len;

	if (*type->name)
		return type;
	len = read_type(pgpu->address, dir, id, "name", text, sizeof(text));
	if (len != -ETIMEDOUT || !named)
		text_cut(type->name, sizeof(type->name), len > 0 ? text : id);
	if (named)
		return type;
	if (read_type(pgpu->address, dir, id, "description", text, sizeof(text)) < 0)
		text[0] = '\0';
	inv_parse_description(type, text);
	typelist_framebuffer(type->name, &type->slices);
	return type;
}

int inv_read_available(const char *card, int dir, const char *type)
{
	char text[32];
	long n;
	ssize_t len = read_type(card, dir, type, "available_instances", text, sizeof(text));

	if (len < 0 || !text_number(text, INT_MIN, INT_MAX, &n))
		return len < 0 ? (int)len : -EINVAL;
	/* A driver that does not enforce the limit can report a negative number (mtty of kernel 5.10). */
	return n > 0 ? (int)n : 0;
}

/* Like inv_read_available(), but also marks the pGPU silent if its driver does not answer. */
static int ask_available(struct inv_pgpu *pgpu, int dir, const char *type)
{
	int n = inv_read_available(pgpu->address, dir, type);

	if (n == -ETIMEDOUT)
		inv_silent(pgpu);
	return n;
}

/* Adds the offer of a type if the parent in `dir` has the type and its driver answers. */
static void add_offer(struct inventory *inv, struct inv_pgpu *pgpu, int dir, const char *id)
{
	char path[TYPE_SIZE + 32];
	int n;

	snprintf(path, sizeof(path), "mdev_supported_types/%s", id);
	/* Without a free VF, nothing can be created. */
	if (pgpu->sriov && !inv_free_vf(pgpu))
		n = sys_exists(dir, path) ? 0 : -ENOENT;
	else
		n = ask_available(pgpu, dir, id);
	if (n == -ENOENT || n == -ETIMEDOUT)
		return;
	if (n < 0)
		inv_not_ready(pgpu, "available_instances of %s cannot be read: %s", id, inv_describe(-n));
	inv_offer_type(pgpu, type_at(inv, pgpu, dir, id, false), n > 0 ? n : 0);
}

/* Adds the offers of the wanted types, and of existing vGPUs' types, whose sizes decide which vGPUs still fit. */
static void add_offers(struct inv_reader *reader, struct inv_pgpu *pgpu, int dir)
{
	const char *const *types = reader->query->types;
	char(*ids)[TYPE_SIZE] = NULL, id[TYPE_SIZE];
	size_t n = types ? 0 : list_types(&ids, dir);

	for (size_t i = 0; i < n; i++)
		add_offer(reader->inv, pgpu, dir, ids[i]);
	for (size_t i = 0; types && types[i]; i++)
		if (type_parse(id, types[i]))
			add_offer(reader->inv, pgpu, dir, id);
	for (const struct inv_device *d = NULL; (d = inventory_next_on(reader->inv, pgpu, d));)
		if (*d->vgpu.type && !inventory_offer(pgpu, d->vgpu.type))
			add_offer(reader->inv, pgpu, dir, d->vgpu.type);
}

/* A VF without a vGPU, not the card itself. */
static bool is_free_vf(const struct inv_parent *parent)
{
	return parent->ndevices == 0 && strcmp(parent->name, parent->card->address) != 0;
}

const struct inv_parent *inv_free_vf(const struct inv_pgpu *pgpu)
{
	for (int i = 0; i < pgpu->nparents; i++)
		if (is_free_vf(pgpu->parents[i]))
			return pgpu->parents[i];
	return NULL;
}

/* The share of a card that one vGPU of the type uses; 0: not known. */
static double share_of(const struct inv_type *type)
{
	return type && type->max_instance > 0 ? 1.0 / type->max_instance : 0;
}

static double share_in_use(const struct inventory *inv, const struct inv_pgpu *pgpu)
{
	double share = 0;

	for (const struct inv_device *d = NULL; (d = inventory_next_on(inv, pgpu, d));) {
		const struct inv_offer *offer = inventory_offer(pgpu, d->vgpu.type);

		share += offer ? share_of(offer->type) : 0;
	}
	return share;
}

static bool has_capacity(const struct inv_pgpu *pgpu, double left)
{
	for (size_t i = 0; i < pgpu->noffers; i++)
		if (share_of(pgpu->offers[i].type) <= left)
			return true;
	return false;
}

/* Asks a VF how many vGPUs of each offered type it can create. Skips types larger than the share `left` of the card. */
static void ask_vf(struct inv_pgpu *pgpu, int dir, double left)
{
	for (size_t i = 0; i < pgpu->noffers && pgpu->ready; i++) {
		const struct inv_type *type = pgpu->offers[i].type;
		int n = share_of(type) <= left ? ask_available(pgpu, dir, type->id) : 0;

		if (n > 0)
			pgpu->offers[i].available = n;
	}
}

/*
 * Finds lost VFs: VFs that have no vGPU and offer no type, although another VF of the card offers one. A VF stays lost
 * if its vGPU was removed before the driver had finished with the vGPU. A VF is lost briefly if nvidia-vgpu-mgr
 * releases the vGPU late.
 *
 * If the first free VF offers nothing, but the card has capacity left, asks further VFs until one offers a type. If the
 * query reads all types, asks every free VF. Both end after BOUNDED_ANSWER_MS.
 */
static void find_lost(struct inv_reader *reader, struct inv_pgpu *pgpu)
{
	const struct inv_parent *first = inv_free_vf(pgpu);
	/* Slightly more than 1, because shares such as 1/3 are rounded. */
	double left = 1.000001 - share_in_use(reader->inv, pgpu);
	int64_t end_ms = sys_now_ms() + BOUNDED_ANSWER_MS;

	if (!pgpu->sriov || (!inventory_offered(pgpu) && !has_capacity(pgpu, left)))
		return;
	for (int i = 0; i < pgpu->nparents && pgpu->ready && sys_now_ms() < end_ms; i++) {
		const char *type = inventory_offered(pgpu);
		struct inv_parent *vf = pgpu->parents[i];

		if (type && reader->query->types)
			return;
		if (!is_free_vf(vf) || (!type && vf == first))
			continue;
		autoclose int dir = sys_dir(sys_list_fd(reader->bus), vf->name);
		if (dir < 0)
			continue;
		if (type)
			vf->lost = ask_available(pgpu, dir, type) == 0;
		else
			ask_vf(pgpu, dir, left);
		for (int before = 0; before < i && !type && inventory_offered(pgpu); before++)
			pgpu->parents[before]->lost = is_free_vf(pgpu->parents[before]);
	}
}

void inv_ask_mdevs(struct inv_reader *reader, struct inv_pgpu *pgpu)
{
	const struct inv_query *query = reader->query;
	bool none_wanted = query->types && !query->types[0];
	/* Without a free VF, ask the first parent. It is the pGPU itself if the pGPU has no VFs. */
	const struct inv_parent *vf = inv_free_vf(pgpu), *parent = vf ? vf : pgpu->parents[0];
	char(*ids)[TYPE_SIZE];
	size_t n;

	if (!query->names && (!pgpu->ready || (none_wanted && !inventory_next_on(reader->inv, pgpu, NULL))))
		return;
	autoclose int dir = sys_dir(sys_list_fd(reader->bus), parent->name);
	if (dir < 0) {
		inv_not_ready(pgpu, "%s cannot be opened: %s", parent->name, err_describe(errno));
	} else if (query->names) {
		n = list_types(&ids, dir);
		for (size_t i = 0; i < n; i++)
			type_at(reader->inv, pgpu, dir, ids[i], true);
	} else {
		add_offers(reader, pgpu, dir);
		if (pgpu->noffers == 0 && !none_wanted && list_types(&ids, dir) == 0)
			inv_not_ready(pgpu, "%s",
				      pgpu->nvidia ? INV_NO_TYPES_YET
						   : "no mdev types registered; its driver is still starting or has "
						     "failed (see dmesg)");
		find_lost(reader, pgpu);
	}
}

static bool is_listed(const struct inv_type *list, size_t n, const struct inv_type *type)
{
	for (EACH(const struct inv_type *, t, list, n))
		if (t->framework == type->framework && strcmp(t->id, type->id) == 0 && strcmp(t->name, type->name) == 0)
			return true;
	return false;
}

int inventory_names(const struct host *host, unsigned int frameworks, struct inv_type **out, size_t *n, struct err *err)
{
	/* Plain VFs have no types. */
	const struct inv_query query = { .frameworks = frameworks & ~INV_VF, .types = inv_no_types, .names = true };
	autoinventory struct inventory inv = { 0 };
	int r = inventory_read(&inv, host, &query, err);

	*out = NULL;
	*n = 0;
	/* Two models can have different types with one ID. */
	for (size_t i = 0; r == 0 && i < inv.ntypes; i++)
		if (!is_listed(*out, *n, inv.types[i]))
			*(struct inv_type *)mem_add(out, n, sizeof(**out)) = *inv.types[i];
	mem_sort(*out, *n, sizeof(**out), typelist_order);
	return r;
}

const char *inventory_name_hint(const struct host *host, const char *word, char buf[REASON_SIZE])
{
	autofree struct inv_type *known = NULL;
	struct err ignored;
	const char *last = "";
	size_t n = 0;

	*buf = '\0';
	if (!*word || inventory_names(host, INV_ALL, &known, &n, &ignored) < 0)
		return buf;
	for (EACH(const struct inv_type *, t, known, n)) {
		/* The list has an ID once for each of its names. The name of a type without a name is its ID. */
		if (!type_is_named(t->name, word) || strcmp(t->id, last) == 0 || strcmp(t->id, word) == 0)
			continue;
		text_add(buf, REASON_SIZE, "%s %s", *last ? " or" : "write", t->id);
		last = t->id;
	}
	if (*buf)
		text_add(buf, REASON_SIZE, ", the ID of %s", word);
	return buf;
}

int inventory_load_config(struct config *config, const struct host *host, const char *path, struct err *err)
{
	char hint[REASON_SIZE];

	if (config_load(config, host, path, NULL, err) == 0)
		return 0;
	if (*inventory_name_hint(host, err->word, hint))
		text_add(err->text, sizeof(err->text), "; %s", hint);
	err->word[0] = '\0';
	config->why = *err;
	if (err->code == ENOENT)
		err_in(&config->why, "no configuration");
	return -err->code;
}
