/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reads the types, and what each pGPU offers now. */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "internal.h"
#include "base/text.h"
#include "sys/sys.h"
#include "sys/timed_child.h"
#include "host/typelist.h"

static bool is_resolution(const char *s)
{
	size_t w = strspn(s, "0123456789"), h;

	if (w == 0 || s[w] != 'x')
		return false;
	h = strspn(s + w + 1, "0123456789");
	return h > 0 && s[w + 1 + h] == '\0';
}

/* "1024M": NVIDIA always writes the framebuffer this way. */
static int parse_mib(char *s)
{
	size_t n = strspn(s, "0123456789");
	long mib;

	if (strcmp(s + n, "M") != 0)
		return UNKNOWN;
	s[n] = '\0';
	return text_number(s, 1, INT_MAX, &mib) ? (int)mib : UNKNOWN;
}

static int parse_count(const char *s)
{
	long n;

	return text_number(s, 0, INT_MAX, &n) ? (int)n : UNKNOWN;
}

/*
 * NVIDIA: num_heads=4, frl_config=60, framebuffer=1024M, max_resolution=5120x2880, max_instance=16. GVT-g: lines such
 * as "resolution: 1920x1200"; its low_gm_size and high_gm_size are apertures, not framebuffer. Other drivers write
 * prose or nothing.
 */
void inv_parse_description(struct inv_type *type, char *text)
{
	char *item;

	type->framebuffer_mib = type->heads = type->max_instance = UNKNOWN;
	type->resolution[0] = '\0';
	while ((item = text_next(&text, ",\n"))) {
		char *value = item + strcspn(item, "=:");

		if (!*value)
			continue;
		*value++ = '\0';
		item = text_strip(item);
		value = text_strip(value);
		if (strcmp(item, "framebuffer") == 0)
			type->framebuffer_mib = parse_mib(value);
		else if (strcmp(item, "num_heads") == 0)
			type->heads = parse_count(value);
		else if (strcmp(item, "max_instance") == 0)
			type->max_instance = parse_count(value);
		else if ((strcmp(item, "max_resolution") == 0 || strcmp(item, "resolution") == 0) &&
			 is_resolution(value))
			text_copy(type->resolution, sizeof(type->resolution), value);
	}
}

ssize_t inv_read_type(const char *card, int dir, const char *type, const char *attribute, char *buf, size_t size)
{
	char path[TYPE_SIZE + 64];

	snprintf(path, sizeof(path), "mdev_supported_types/%s/%s", type, attribute);
	return timed_child_read(card, dir, path, buf, size);
}

static bool has_type(int dir, const char *type)
{
	char path[TYPE_SIZE + 32];

	snprintf(path, sizeof(path), "mdev_supported_types/%s", type);
	return sys_exists(dir, path);
}

int inv_by_number(const void *a, const void *b)
{
	return strverscmp(a, b);
}

/* The type IDs of a parent, sorted so that numbers in them compare as numbers. */
struct ids {
	char (*id)[TYPE_SIZE];
	size_t n;
};

static int list_types(struct ids *ids, int dir, struct err *err)
{
	char id[TYPE_SIZE];
	const struct dirent *e;
	autoclosedir DIR *d = sys_list(dir, "mdev_supported_types");

	*ids = (struct ids){ 0 };
	if (!d)
		return err_sys(err, errno, "mdev_supported_types");
	while ((e = sys_next(d))) {
		if (type_parse(id, e->d_name))
			inv_append(&ids->id, &ids->n, id, sizeof(id));
	}
	if (ids->n)
		qsort(ids->id, ids->n, sizeof(*ids->id), inv_by_number);
	return 0;
}

bool inv_type_is_of(const struct inv_type *type, const struct inv_pgpu *pgpu)
{
	return type->framework == pgpu->framework && strcmp(type->device, pgpu->device) == 0 &&
	       strcmp(type->vendor, pgpu->vendor) == 0 && strcmp(type->subsystem, pgpu->subsystem) == 0;
}

struct inv_type *inv_add_type(struct inventory *inv, const struct inv_pgpu *pgpu, const struct inv_type *type)
{
	struct inv_type *added = inv_add(&inv->types, &inv->ntypes, type, sizeof(*type));

	added->framework = pgpu->framework;
	memcpy(added->vendor, pgpu->vendor, sizeof(added->vendor));
	memcpy(added->device, pgpu->device, sizeof(added->device));
	memcpy(added->subsystem, pgpu->subsystem, sizeof(added->subsystem));
	return added;
}

void inv_offer_type(struct inv_pgpu *pgpu, const struct inv_type *type, int available)
{
	const struct inv_offer offer = { .type = type, .available = available };

	inv_append(&pgpu->offers, &pgpu->noffers, &offer, sizeof(offer));
}

/* The type `id` on this model; a new type is read from the parent with the directory `dir`. */
static const struct inv_type *type_at(struct inventory *inv, const struct inv_pgpu *pgpu, int dir, const char *id)
{
	const struct inv_type *known = inventory_type_on(inv, pgpu, id);
	struct inv_type type = { 0 };
	char text[1024];

	if (known)
		return known;
	text_copy(type.id, sizeof(type.id), id);
	if (inv_read_type(pgpu->address, dir, id, "name", text, sizeof(text)) > 0)
		text_cut(type.name, sizeof(type.name), text);
	else
		text_copy(type.name, sizeof(type.name), id);
	if (inv_read_type(pgpu->address, dir, id, "device_api", text, sizeof(text)) > 0)
		text_cut(type.api, sizeof(type.api), text);
	if (inv_read_type(pgpu->address, dir, id, "description", text, sizeof(text)) < 0)
		text[0] = '\0';
	inv_parse_description(&type, text);
	typelist_framebuffer(type.name, &type.slices);
	return inv_add_type(inv, pgpu, &type);
}

int inv_read_available(const char *card, int dir, const char *type)
{
	char text[32];
	long n;
	ssize_t len = inv_read_type(card, dir, type, "available_instances", text, sizeof(text));

	if (len < 0 || !text_number(text, INT_MIN, INT_MAX, &n))
		return len < 0 ? (int)len : -EINVAL;
	/* Drivers without their own check let the number fall below zero (mtty before 6.1). */
	return n > 0 ? (int)n : 0;
}

/* Adds the pGPU's offer of this type, if it has one. */
static void add_offer(struct inventory *inv, struct inv_pgpu *pgpu, const struct inv_asked *asked, const char *id)
{
	int n = 0;

	if (asked->is_free)
		n = inv_read_available(pgpu->address, asked->dir, id);
	else if (!has_type(asked->dir, id))
		return;
	if (n == -ETIMEDOUT)
		inv_silent(pgpu);
	if (n == -ENOENT || n == -ETIMEDOUT)
		return;
	if (n < 0)
		inv_not_ready(pgpu, "available_instances of %s cannot be read: %s", id, inv_describe(-n));
	inv_offer_type(pgpu, type_at(inv, pgpu, asked->dir, id), n > 0 ? n : 0);
}

void inv_ask(struct inv_reader *reader, struct inv_pgpu *pgpu, const struct inv_asked *asked)
{
	struct ids ids = { 0 };
	struct err err;

	if (!pgpu->ready)
		return;
	for (size_t i = 0; reader->query->types && reader->query->types[i]; i++) {
		char id[TYPE_SIZE];

		if (type_parse(id, reader->query->types[i]))
			add_offer(reader->inv, pgpu, asked, id);
	}
	/* Types that cannot be listed are not offered; inv_ask_rest() looks for the reason. */
	if (!reader->query->types && list_types(&ids, asked->dir, &err) == 0)
		for (size_t i = 0; i < ids.n; i++)
			add_offer(reader->inv, pgpu, asked, ids.id[i]);
	mem_free(ids.id);
}

/* On cards of one model an ID means one type: its name is read from the first card that answers. */
static void name_types(struct inventory *inv, const struct inv_pgpu *pgpu, int dir)
{
	struct ids ids;
	struct err err;

	if (list_types(&ids, dir, &err) < 0)
		return;
	for (size_t i = 0; i < ids.n; i++) {
		struct inv_type *type = inventory_type_on(inv, pgpu, ids.id[i]), fresh = { 0 };
		char text[TYPE_NAME_SIZE];
		ssize_t len;

		if (type && *type->name)
			continue;
		text_copy(fresh.id, sizeof(fresh.id), ids.id[i]);
		if (!type)
			type = inv_add_type(inv, pgpu, &fresh);
		len = inv_read_type(pgpu->address, dir, type->id, "name", text, sizeof(text));
		if (len != -ETIMEDOUT)
			text_cut(type->name, sizeof(type->name), len > 0 ? text : type->id);
	}
	mem_free(ids.id);
}

void inv_name_types(struct inv_reader *reader)
{
	for (size_t g = 0; g < reader->inv->npgpus; g++) {
		const struct inv_pgpu *pgpu = reader->inv->pgpus[g];

		if (pgpu->framework != FW_MDEV || pgpu->nparents == 0)
			continue;
		autoclose int dir = inv_open_parent(reader->host, pgpu->parents[0]->name);
		name_types(reader->inv, pgpu, dir);
	}
}

bool inv_is_free_vf(const struct inv_parent *parent)
{
	return parent->ndevices == 0 && strcmp(parent->name, parent->card->address) != 0;
}

/* Chooses the parent to ask: a free VF, else the first parent; the pGPU itself if it has no VFs. */
static struct inv_asked choose(const struct inv_pgpu *pgpu)
{
	for (int i = 0; i < pgpu->nparents && pgpu->sriov; i++)
		if (inv_is_free_vf(pgpu->parents[i]))
			return (struct inv_asked){ .name = pgpu->parents[i]->name, .is_free = true };
	return (struct inv_asked){ .name = pgpu->parents[0]->name, .is_free = !pgpu->sriov };
}

/* Explains a registered parent without types: its driver is still starting or has failed. */
static void explain_no_types(struct inv_pgpu *pgpu, int dir)
{
	struct err err;
	struct ids ids;
	bool none = list_types(&ids, dir, &err) < 0 || ids.n == 0;

	mem_free(ids.id);
	if (none && pgpu->nvidia)
		inv_not_ready(
			pgpu,
			"no vGPU types registered yet; nvidia-vgpud has not finished or has failed (see its journal)");
	else if (none)
		inv_not_ready(pgpu, "no mdev types registered; its driver is still starting or has failed (see dmesg)");
}

/*
 * Adds the types of the vGPUs on the pGPU, even if nobody asked for them: their size decides what else fits. Without
 * `asked`, adds nothing, and returns whether an offer of such a type is missing.
 */
static bool add_carried(struct inventory *inv, struct inv_pgpu *pgpu, const struct inv_asked *asked)
{
	for (const struct inv_device *d = NULL; (d = inventory_next_on(inv, pgpu, d));) {
		if (!*d->vgpu.type || inventory_offer(pgpu, d->vgpu.type))
			continue;
		if (!asked)
			return true;
		add_offer(inv, pgpu, asked, d->vgpu.type);
	}
	return false;
}

void inv_ask_rest(struct inv_reader *reader)
{
	struct inventory *inv = reader->inv;
	bool none_wanted = reader->query->types && !reader->query->types[0];

	for (size_t g = 0; g < inv->npgpus; g++) {
		struct inv_pgpu *pgpu = inv->pgpus[g];
		bool is_asked = pgpu->noffers > 0 || none_wanted;
		struct inv_asked asked;

		if (pgpu->framework != FW_MDEV || pgpu->nparents == 0 || !pgpu->ready ||
		    (is_asked && !add_carried(inv, pgpu, NULL)))
			continue;
		asked = choose(pgpu);
		autoclose int dir = asked.dir = inv_open_parent(reader->host, asked.name);
		if (dir < 0) {
			inv_not_ready(pgpu, "%s cannot be opened: %s", asked.name, err_describe(errno));
			continue;
		}
		if (!is_asked)
			inv_ask(reader, pgpu, &asked);
		add_carried(inv, pgpu, &asked);
		if (pgpu->noffers == 0 && !none_wanted)
			explain_no_types(pgpu, dir);
	}
}
