/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The inventory's lists of types: all there are, or those of one name. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/auto.h"
#include "internal.h"
#include "base/text.h"

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
 * The types of one parent that are new, with this name (NULL: any). An id says what a type is, so its name is read
 * once.
 */
static int collect(struct inv_ids *found, struct inv_ids *seen, const char *card, int dir, const char *name,
		   struct err *err)
{
	struct inv_ids ids;
	int r = 0;

	if (inv_list_types(&ids, dir, err) < 0)
		return 0;
	for (size_t i = 0; r == 0 && i < ids.n; i++) {
		char text[TYPE_NAME_SIZE], shown[TYPE_NAME_SIZE];

		ssize_t len = 1;

		if (is_listed(seen, ids.id[i]))
			continue;
		if (name)
			len = inv_read_type(card, dir, ids.id[i], "name", text, sizeof(text));
		/* Another card of the model may tell. */
		if (len == -ETIMEDOUT)
			break;
		r = inv_room(&seen->id, seen->n, sizeof(*seen->id), err);
		if (r < 0)
			break;
		memcpy(seen->id[seen->n++], ids.id[i], TYPE_SIZE);
		if (len <= 0)
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

/* The reader comes first: it stands for the whole. */
struct listing {
	struct inv_reader reader;
	const char *name;
	struct inv_ids found, seen;
};

static int collect_all(void *arg, struct err *err)
{
	struct listing *listing = arg;
	struct inv_reader *reader = &listing->reader;
	const struct inventory *inv = reader->inv;
	int r = inv_open(reader, err);

	listing->found.n = listing->seen.n = 0;
	if (r == 0)
		r = inv_read_parents(reader, err);
	if (r == 0)
		r = inv_group(reader, err);
	if (r == 0)
		r = inv_order(reader, err);
	for (size_t i = 0; r == 0 && i < inv->npgpus; i++) {
		const char *parent = inv->parents[inv->pgpus[i].first].name;
		autoclose int dir = openat(reader->bus, parent, O_PATH | O_DIRECTORY | O_CLOEXEC);

		r = collect(&listing->found, &listing->seen, inv->pgpus[i].address, dir, listing->name, err);
	}
	inv_close(reader);
	return r;
}

static int collect_mdev(struct inv_ids *found, const struct host *host, const char *name, struct err *err)
{
	static const char *const none[] = { NULL };
	static const struct inv_query query = { .frameworks = INV_MDEV, .types = none };
	struct inventory inv = { 0 };
	struct listing listing = { .reader = { .inv = &inv, .host = host, .query = &query, .types = none },
				   .name = name };
	int r = inv_bounded(collect_all, &listing.reader, err);

	inventory_free(&inv);
	free(listing.seen.id);
	*found = listing.found;
	return r;
}

static int collect_variant(struct inv_ids *found, const struct host *host, const char *name, struct err *err)
{
	static const char *const none[] = { NULL };
	static const struct inv_query query = { .frameworks = INV_VARIANT, .types = none };
	struct inventory inv;
	int r = inventory_read(&inv, host, &query, err);

	if (r < 0)
		return r;
	for (size_t i = 0; r == 0 && i < inv.ntypes; i++) {
		if ((name && strcmp(inv.types[i].name, name) != 0) || is_listed(found, inv.types[i].id))
			continue;
		r = inv_room(&found->id, found->n, sizeof(*found->id), err);
		if (r == 0)
			memcpy(found->id[found->n++], inv.types[i].id, TYPE_SIZE);
	}
	inventory_free(&inv);
	return r;
}

int inventory_types_named(const struct host *host, unsigned int frameworks, const char *name, char ***out,
			  struct err *err)
{
	struct inv_ids found = { 0 };
	int r = 0;

	*out = NULL;
	if (frameworks & INV_MDEV)
		r = collect_mdev(&found, host, name, err);
	if (r == 0 && frameworks & INV_VARIANT)
		r = collect_variant(&found, host, name, err);
	if (r == 0 && found.n)
		qsort(found.id, found.n, sizeof(*found.id), inv_by_number);
	if (r == 0)
		r = pack(out, &found, err);
	free(found.id);
	return r;
}

int inventory_type_ids(const struct host *host, unsigned int frameworks, char ***out, struct err *err)
{
	return inventory_types_named(host, frameworks, NULL, out, err);
}
