/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The types of the host and their names. */
#include <errno.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "config/config.h"
#include "internal.h"
#include "base/text.h"

struct names {
	struct inv_name *list;
	size_t n;
};

static struct inv_name *find(const struct names *names, enum framework framework, const char *id)
{
	for (size_t i = 0; i < names->n; i++)
		if (names->list[i].framework == framework && strcmp(names->list[i].id, id) == 0)
			return &names->list[i];
	return NULL;
}

static void add(struct names *names, enum framework framework, const char *id, const char *name)
{
	struct inv_name *added = mem_add(&names->list, &names->n, sizeof(*added));

	added->framework = framework;
	text_copy(added->id, sizeof(added->id), id);
	text_cut(added->name, sizeof(added->name), name);
}

static bool is_listed(const struct names *names, const char *id, const char *name)
{
	for (size_t i = 0; i < names->n; i++)
		if (strcmp(names->list[i].id, id) == 0 && strcmp(names->list[i].name, name) == 0)
			return true;
	return false;
}

/*
 * Adds the types of one parent. On cards of one model an ID always means the same type, so its name is read once, from
 * the first card that answers. On another model the ID can mean another type.
 */
static void collect(struct names *names, const char *card, int dir, bool other_model)
{
	struct inv_ids ids;
	struct err err;

	if (inv_list_types(&ids, dir, &err) < 0)
		return;
	for (size_t i = 0; i < ids.n; i++) {
		struct inv_name *known = find(names, FW_MDEV, ids.id[i]);
		char text[TYPE_NAME_SIZE];
		ssize_t len;

		if (known && *known->name && !other_model)
			continue;
		len = inv_read_type(card, dir, ids.id[i], "name", text, sizeof(text));
		if (len <= 0)
			text_copy(text, sizeof(text), len == -ETIMEDOUT ? "" : ids.id[i]);
		if (known && *known->name && !is_listed(names, ids.id[i], text))
			add(names, FW_MDEV, ids.id[i], text);
		else if (known && !*known->name)
			text_cut(known->name, sizeof(known->name), text);
		else if (!known)
			add(names, FW_MDEV, ids.id[i], text);
	}
	mem_free(ids.id);
}

/* inv_bounded() copies the whole structure, so the reader must come first. */
struct listing {
	struct inv_reader reader;
	struct names names;
};

/* Does a card earlier in the list have the same model? */
static bool is_model_known(const struct inventory *inv, size_t pgpu)
{
	for (size_t i = 0; i < pgpu; i++)
		if (inv_same_model(inv->pgpus[i], inv->pgpus[pgpu]))
			return true;
	return false;
}

static int collect_all(void *arg, struct err *err)
{
	struct listing *listing = arg;
	struct inv_reader *reader = &listing->reader;
	const struct inventory *inv = reader->inv;

	if (inv_open(reader, err) < 0 || inv_read_parents(reader, err) < 0) {
		inv_close(reader);
		return -err->code;
	}
	inv_group(reader);
	inv_order(reader->inv);
	for (size_t i = 0; i < inv->npgpus; i++) {
		const char *parent = inv->pgpus[i]->parents[0]->name;
		autoclose int dir = sys_dir(reader->bus, parent);

		collect(&listing->names, inv->pgpus[i]->address, dir, !is_model_known(inv, i));
	}
	inv_close(reader);
	return 0;
}

static const char *const none[] = { NULL };

static int collect_mdev(struct names *names, const struct host *host, struct err *err)
{
	static const struct inv_query query = { .frameworks = INV_MDEV, .types = none };
	struct inventory inv = { 0 };
	struct listing listing = { .reader = { .inv = &inv, .host = host, .query = &query, .types = none } };
	int r = inv_bounded(collect_all, &listing.reader, sizeof(listing), err);

	for (size_t i = 0; r == 0 && i < listing.names.n; i++)
		inv_append(&names->list, &names->n, &listing.names.list[i], sizeof(*names->list));
	inventory_free(&inv);
	return r;
}

/* An ID can have different names on different models. */
static int collect_variant(struct names *names, const struct host *host, struct err *err)
{
	static const struct inv_query query = { .frameworks = INV_VARIANT, .types = none };
	struct inventory inv;
	int r = inventory_read(&inv, host, &query, err);

	if (r < 0)
		return r;
	for (size_t i = 0; i < inv.ntypes; i++)
		add(names, FW_VARIANT, inv.types[i]->id, inv.types[i]->name);
	inventory_free(&inv);
	return 0;
}

int inventory_names(const struct host *host, unsigned int frameworks, struct inv_name **out, size_t *n, struct err *err)
{
	struct names names = { 0 };
	int r = 0;

	if (frameworks & INV_MDEV)
		r = collect_mdev(&names, host, err);
	if (r == 0 && frameworks & INV_VARIANT)
		r = collect_variant(&names, host, err);
	if (r < 0)
		mem_free(names.list);
	else if (names.n)
		qsort(names.list, names.n, sizeof(*names.list), inv_by_number);
	*out = r == 0 ? names.list : NULL;
	*n = r == 0 ? names.n : 0;
	return r;
}

const char *inventory_name_hint(const struct host *host, const char *word, char buf[REASON_SIZE])
{
	autofree struct inv_name *known = NULL;
	struct err ignored;
	const char *last = "";
	size_t n = 0;

	*buf = '\0';
	if (!*word || inventory_names(host, INV_ALL, &known, &n, &ignored) < 0)
		return buf;
	for (size_t i = 0; i < n; i++) {
		/* The list repeats an ID for each of its names. An ID without a name is listed as its own name. */
		if (!type_is_named(known[i].name, word) || strcmp(known[i].id, last) == 0 ||
		    strcmp(known[i].id, word) == 0)
			continue;
		text_add(buf, REASON_SIZE, "%s %s", *last ? " or" : "write", known[i].id);
		last = known[i].id;
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
	return -err->code;
}
