/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The inventory's types: what each is, and what each pGPU offers of it now. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "auto.h"
#include "file.h"
#include "inventory_parts.h"
#include "text.h"

/* "1920x1200", and nothing else. */
static bool is_resolution(const char *s)
{
	size_t w = strspn(s, "0123456789"), h;

	if (w == 0 || s[w] != 'x')
		return false;
	h = strspn(s + w + 1, "0123456789");
	return h > 0 && s[w + 1 + h] == '\0';
}

/* "1024M": NVIDIA gives the framebuffer always so. */
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
 * as "resolution: 1920x1200"; its low_gm_size and high_gm_size are apertures, no framebuffer. Others write prose, or
 * nothing.
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

/* Reads PARENT/mdev_supported_types/TYPE/ATTRIBUTE. */
static ssize_t read_attribute(const struct inv_reader *reader, const char *parent, const char *type,
			      const char *attribute, char *buf, size_t size)
{
	char path[INV_PATH_SIZE + 32];

	snprintf(path, sizeof(path), "%s/mdev_supported_types/%s/%s", parent, type, attribute);
	return file_read(reader->bus, path, buf, size);
}

static bool has_type(const struct inv_reader *reader, const char *parent, const char *type)
{
	char path[INV_PATH_SIZE];

	snprintf(path, sizeof(path), "%s/mdev_supported_types/%s", parent, type);
	return faccessat(reader->bus, path, F_OK, 0) == 0;
}

static int by_number(const void *a, const void *b)
{
	return strverscmp(a, b);
}

int inv_list_types(struct inv_ids *ids, const struct inv_reader *reader, const char *parent, struct err *err)
{
	char path[INV_PATH_SIZE], id[TYPE_SIZE];
	const struct dirent *e;
	int fd;

	*ids = (struct inv_ids){ 0 };
	snprintf(path, sizeof(path), "%s/mdev_supported_types", parent);
	fd = file_dir(reader->bus, path);
	autoclosedir DIR *d = fd < 0 ? NULL : fdopendir(fd);
	if (!d)
		return err_sys(err, fd < 0 ? -fd : errno, "%s/sys/class/mdev_bus/%s", reader->host->name, path);
	while ((e = readdir(d))) {
		int r;

		if (!type_parse(id, e->d_name))
			continue;
		r = inv_room(&ids->id, ids->n, sizeof(*ids->id), err);
		if (r < 0) {
			free(ids->id);
			*ids = (struct inv_ids){ 0 };
			return r;
		}
		memcpy(ids->id[ids->n++], id, sizeof(id));
	}
	if (ids->n)
		qsort(ids->id, ids->n, sizeof(*ids->id), by_number);
	return 0;
}

/* The index of what `id` is on cards of this model; read where it is new. */
static int type_at(struct inv_reader *reader, const struct inv_pgpu *pgpu, const char *parent, const char *id,
		   struct err *err)
{
	struct inventory *inv = reader->inv;
	struct inv_type type = { 0 };
	char text[1024];
	int r;

	for (size_t i = 0; i < inv->ntypes; i++)
		if (strcmp(inv->types[i].id, id) == 0 && strcmp(inv->types[i].device, pgpu->device) == 0 &&
		    strcmp(inv->types[i].vendor, pgpu->vendor) == 0)
			return (int)i;
	memcpy(type.vendor, pgpu->vendor, sizeof(type.vendor));
	memcpy(type.device, pgpu->device, sizeof(type.device));
	text_copy(type.id, sizeof(type.id), id);
	if (read_attribute(reader, parent, id, "name", text, sizeof(text)) > 0)
		text_safe(type.name, sizeof(type.name), text);
	else
		text_copy(type.name, sizeof(type.name), id);
	if (read_attribute(reader, parent, id, "device_api", text, sizeof(text)) > 0)
		text_safe(type.api, sizeof(type.api), text);
	if (read_attribute(reader, parent, id, "description", text, sizeof(text)) < 0)
		text[0] = '\0';
	inv_parse_description(&type, text);
	r = inv_room(&inv->types, inv->ntypes, sizeof(type), err);
	if (r < 0)
		return r;
	inv->types[inv->ntypes] = type;
	return (int)inv->ntypes++;
}

/*
 * Adds what `parent` offers of one type, if it does. `free` false: no parent of the pGPU is free, so none can be
 * made.
 */
static int read_offer(struct inv_reader *reader, struct inv_pgpu *pgpu, const char *parent, bool is_free,
		      const char *id, struct err *err)
{
	struct inv_offer offer = { 0 };
	char text[32];
	long n = 0;
	int r;

	if (is_free) {
		ssize_t len = read_attribute(reader, parent, id, "available_instances", text, sizeof(text));

		if (len == -ENOENT)
			return 0;
		if (len < 0)
			inv_not_ready(pgpu, "%s: available_instances of %s cannot be read: %s", parent, id,
				      strerrordesc_np((int)-len));
		else if (!text_number(text, INT_MIN, INT_MAX, &n))
			inv_not_ready(pgpu, "%s: available_instances of %s is no number", parent, id);
	} else if (!has_type(reader, parent, id)) {
		return 0;
	}
	/* Drivers without a check of their own let it go below zero (mtty before 6.1). */
	offer.available = n > 0 ? (int)n : 0;
	offer.type = type_at(reader, pgpu, parent, id, err);
	if (offer.type < 0)
		return offer.type;
	r = inv_room(&pgpu->offers, pgpu->noffers, sizeof(offer), err);
	if (r == 0)
		pgpu->offers[pgpu->noffers++] = offer;
	return r;
}

/* The parent that is asked: a free VF, else any; the pGPU itself where it has no VFs. */
static const struct inv_parent *asked(const struct inventory *inv, const struct inv_pgpu *pgpu, bool *is_free)
{
	const struct inv_parent *first = &inv->parents[pgpu->first];

	*is_free = true;
	if (!pgpu->sriov)
		return first;
	for (int i = 0; i < pgpu->nparents; i++)
		if (first[i].ndevices == 0 && strcmp(first[i].name, pgpu->address) != 0)
			return &first[i];
	*is_free = false;
	return first;
}

/* A registered parent without types: its driver is still at it, or has gone wrong. */
static void explain_no_types(struct inv_reader *reader, struct inv_pgpu *pgpu, const char *parent)
{
	struct err err;
	struct inv_ids ids;
	bool none = inv_list_types(&ids, reader, parent, &err) < 0 || ids.n == 0;

	free(ids.id);
	if (none && pgpu->nvidia)
		inv_not_ready(
			pgpu,
			"no mdev types registered yet: nvidia-vgpud has not finished, or failed; see its journal");
	else if (none)
		inv_not_ready(
			pgpu,
			"no mdev types registered: its driver is still starting, or failed; see the kernel's log");
}

/* The types that matter: those that were asked for, and those of the vGPUs that the pGPU carries: their size decides what else fits. */
static int read_wanted(struct inv_reader *reader, struct inv_pgpu *pgpu, const char *parent, bool is_free,
		       struct err *err)
{
	const struct inventory *inv = reader->inv;
	int g = (int)(pgpu - inv->pgpus), r = 0;
	char id[TYPE_SIZE];

	for (size_t i = 0; r == 0 && reader->types[i]; i++)
		if (type_parse(id, reader->types[i]))
			r = read_offer(reader, pgpu, parent, is_free, id, err);
	for (size_t i = 0; r == 0 && i < inv->ndevices; i++) {
		const struct inv_device *d = &inv->devices[i];

		if (d->parent != UNKNOWN && inv->parents[d->parent].pgpu == g && *d->type &&
		    !inventory_offer(inv, g, d->type))
			r = read_offer(reader, pgpu, parent, is_free, d->type, err);
	}
	return r;
}

static int read_pgpu(struct inv_reader *reader, struct inv_pgpu *pgpu, struct err *err)
{
	const char *parent;
	bool is_free;
	int r = 0;

	if (pgpu->nparents == 0 || !pgpu->ready)
		return 0;
	parent = asked(reader->inv, pgpu, &is_free)->name;
	if (reader->types) {
		r = read_wanted(reader, pgpu, parent, is_free, err);
	} else {
		struct inv_ids ids;

		/* What it cannot list it does not offer; the reason is found below. */
		if (inv_list_types(&ids, reader, parent, err) == 0)
			for (size_t i = 0; r == 0 && i < ids.n; i++)
				r = read_offer(reader, pgpu, parent, is_free, ids.id[i], err);
		free(ids.id);
	}
	if (r == 0 && pgpu->noffers == 0)
		explain_no_types(reader, pgpu, parent);
	return r;
}

int inv_read_offers(struct inv_reader *reader, struct err *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < reader->inv->npgpus; i++)
		r = read_pgpu(reader, &reader->inv->pgpus[i], err);
	return r;
}

/* One allocation: the pointers, a NULL, and behind them the texts. */
static int pack(char ***out, const struct inv_ids *ids, struct err *err)
{
	char **list, *text;

	*out = NULL;
	if (ids->n == 0)
		return 0;
	list = malloc((ids->n + 1) * sizeof(*list) + ids->n * TYPE_SIZE);
	if (!list)
		return err_sys(err, ENOMEM, "reading the inventory");
	text = (char *)(list + ids->n + 1);
	for (size_t i = 0; i < ids->n; i++)
		list[i] = memcpy(text + i * TYPE_SIZE, ids->id[i], TYPE_SIZE);
	list[ids->n] = NULL;
	*out = list;
	return 0;
}

static bool is_listed(const struct inv_ids *ids, const char *id)
{
	for (size_t i = 0; i < ids->n; i++)
		if (strcmp(ids->id[i], id) == 0)
			return true;
	return false;
}

/*
 * The types of one pGPU that are new, with this name (NULL: any). An id says what a type is, so its name is read
 * once.
 */
static int collect(struct inv_ids *found, struct inv_ids *seen, const struct inv_reader *reader, const char *parent,
		   const char *name, struct err *err)
{
	struct inv_ids ids;
	int r = 0;

	if (inv_list_types(&ids, reader, parent, err) < 0)
		return 0;
	for (size_t i = 0; r == 0 && i < ids.n; i++) {
		char text[TYPE_NAME_SIZE], shown[TYPE_NAME_SIZE];

		if (is_listed(seen, ids.id[i]))
			continue;
		r = inv_room(&seen->id, seen->n, sizeof(*seen->id), err);
		if (r < 0)
			break;
		memcpy(seen->id[seen->n++], ids.id[i], TYPE_SIZE);
		if (name && read_attribute(reader, parent, ids.id[i], "name", text, sizeof(text)) <= 0)
			text_copy(text, sizeof(text), ids.id[i]);
		if (name && (text_safe(shown, sizeof(shown), text), strcmp(shown, name) != 0))
			continue;
		r = inv_room(&found->id, found->n, sizeof(*found->id), err);
		if (r == 0)
			memcpy(found->id[found->n++], ids.id[i], TYPE_SIZE);
	}
	free(ids.id);
	return r;
}

static int collect_all(struct inv_ids *found, const struct host *host, const char *name, struct err *err)
{
	struct inventory inv = { 0 };
	struct inv_reader reader = { .inv = &inv, .host = host, .bus = -1 };
	struct inv_ids seen = { 0 };
	int r = inv_open(&reader, err);
	autoclose int bus = reader.bus;

	if (r == 0)
		r = inv_read_parents(&reader, err);
	if (r == 0)
		r = inv_group(&reader, err);
	if (r == 0)
		r = inv_order(&reader, err);
	for (size_t i = 0; r == 0 && i < inv.npgpus; i++)
		if (inv.pgpus[i].nparents)
			r = collect(found, &seen, &reader, inv.parents[inv.pgpus[i].first].name, name, err);
	free(seen.id);
	inventory_free(&inv);
	if (r == 0 && found->n)
		qsort(found->id, found->n, sizeof(*found->id), by_number);
	return r;
}

int inventory_types_named(const struct host *host, const char *name, char ***out, struct err *err)
{
	struct inv_ids found = { 0 };
	int r = collect_all(&found, host, name, err);

	*out = NULL;
	if (r == 0)
		r = pack(out, &found, err);
	free(found.id);
	return r;
}

int inventory_type_ids(const struct host *host, char ***out, struct err *err)
{
	return inventory_types_named(host, NULL, out, err);
}
