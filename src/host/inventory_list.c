/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The types of the host and their names. */
#include <errno.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "config/config.h"
#include "internal.h"
#include "base/text.h"

static bool is_listed(const struct inv_name *list, size_t n, const struct inv_type *type)
{
	for (size_t i = 0; i < n; i++)
		if (list[i].framework == type->framework && strcmp(list[i].id, type->id) == 0 &&
		    strcmp(list[i].name, type->name) == 0)
			return true;
	return false;
}

int inventory_names(const struct host *host, unsigned int frameworks, struct inv_name **out, size_t *n, struct err *err)
{
	const struct inv_query query = { .frameworks = frameworks, .types = inv_no_types, .names = true };
	autoinventory struct inventory inv = { 0 };
	int r = inventory_read(&inv, host, &query, err);

	*out = NULL;
	*n = 0;
	/* Two models can have different types with one ID. */
	for (size_t i = 0; r == 0 && i < inv.ntypes; i++) {
		struct inv_name *added;

		if (is_listed(*out, *n, inv.types[i]))
			continue;
		added = mem_add(out, n, sizeof(*added));
		added->framework = inv.types[i]->framework;
		memcpy(added->id, inv.types[i]->id, sizeof(added->id));
		memcpy(added->name, inv.types[i]->name, sizeof(added->name));
	}
	if (*n)
		qsort(*out, *n, sizeof(**out), inv_by_number);
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
