/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* vgpu-lease types: what kinds of vGPU this host's pGPUs can make. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "cli/cards.h"
#include "cli/table.h"

/* A type on all the cards that offer it; what it is, is told by the first of them. */
struct kind {
	const struct inv_type *type;
	enum framework framework;
	struct capacity_count pool, host; /* of those cards that are configured for it, and of all */
};

static bool in_pool(const struct world *world, const struct inv_pgpu *card, const char *type)
{
	return card->pool.in_pool && pool_serves(&world->inv, card, type);
}

/* What one card makes of a type; false: it does not offer it. */
static bool count_on(const struct world *world, const struct inv_pgpu *card, const char *type,
		     struct capacity_count *count)
{
	const struct inv_offer *offer = inventory_offer(card, type);

	if (offer)
		capacity_count(count, world, card, offer);
	return offer;
}

static void add(struct capacity_count *sum, const struct capacity_count *count)
{
	sum->capacity += count->capacity;
	sum->used += count->used;
	sum->available += count->available;
}

static struct kind kind_of(const struct world *world, const struct inv_type *type, enum framework framework)
{
	struct kind kind = { .type = type, .framework = framework };
	struct capacity_count count;

	for (size_t g = 0; g < world->inv.npgpus; g++) {
		if (!count_on(world, world->inv.pgpus[g], type->id, &count))
			continue;
		add(&kind.host, &count);
		if (in_pool(world, world->inv.pgpus[g], type->id))
			add(&kind.pool, &count);
	}
	return kind;
}

/* In the order in which the cards offer them, as far as the filters go; the caller frees the list. */
static struct kind *find_kinds(const struct cmd_call *call, const struct world *world, size_t *n)
{
	const struct inventory *inv = &world->inv;
	struct kind *kinds = mem_new(inv->ntypes + 1, sizeof(*kinds));

	*n = 0;
	for (size_t g = 0; g < inv->npgpus; g++) {
		if (call->pgpu && !pool_address_is(call->pgpu, inv->pgpus[g]->address))
			continue;
		for (size_t o = 0; o < inv->pgpus[g]->noffers; o++) {
			const struct inv_type *type = inv->pgpus[g]->offers[o].type;
			size_t k = 0;

			while (k < *n && strcmp(kinds[k].type->id, type->id) != 0)
				k++;
			if (k == *n && (!call->type || strcmp(call->type, type->id) == 0))
				kinds[(*n)++] = kind_of(world, type, inv->pgpus[g]->framework);
		}
	}
	return kinds;
}

static const struct table_layout layout = {
	.columns = { COL_TYPE, COL_NAME, COL_CLASS, COL_MIB, COL_HEADS, COL_RESOLUTION, COL_CAPACITY, COL_USED,
		     COL_AVAILABLE, COL_HOST, COL_PGPUS },
	.more = { COL_FRAMEWORK },
	.narrow = { COL_RESOLUTION, COL_HEADS, COL_CLASS, COL_PGPUS, COL_HOST, COL_MIB, COL_NAME },
};

/* "0000:84:00.0*, 0000:85:00.0": the star is on those that are configured for the type. */
static void print_makers(struct rows *rows, const struct world *world, const char *type)
{
	struct rows pgpus = { .json = rows->json };
	autofree char *list = NULL;
	struct capacity_count count;
	size_t size;
	FILE *to = mem_open(&list, &size);
	const char *comma = "";

	json_out_array(rows->json, "pgpus");
	for (size_t g = 0; g < world->inv.npgpus; g++) {
		const struct inv_pgpu *card = world->inv.pgpus[g];

		if (!count_on(world, card, type, &count))
			continue;
		fprintf(to, "%s%s%s", comma, card->address, in_pool(world, card, type) ? "*" : "");
		comma = ", ";
		row_begin(&pgpus);
		json_out_string(pgpus.json, "address", card->address);
		json_out_bool(pgpus.json, "in_pool", in_pool(world, card, type));
		row_count(&pgpus, &count);
		row_end(&pgpus);
	}
	json_out_close(rows->json);
	mem_close(to);
	table_text(&rows->table, COL_PGPUS, list);
}

static void print(const struct cmd *cmd, const struct world *world, const struct kind *kinds, size_t n)
{
	struct rows rows;

	cmd_rows_begin(&rows, cmd, &layout);
	json_out_array(rows.json, "types");
	for (const struct kind *kind = kinds; kind < kinds + n; kind++) {
		row_begin(&rows);
		row_type(&rows, kind->type, world->config);
		row_text(&rows, COL_FRAMEWORK, "framework", framework_word(kind->framework));
		row_count(&rows, &kind->pool);
		table_number(&rows.table, COL_HOST, kind->host.available);
		json_out_object(rows.json, "host");
		row_count(&(struct rows){ .json = rows.json }, &kind->host);
		json_out_close(rows.json);
		print_makers(&rows, world, kind->type->id);
		row_end(&rows);
	}
	json_out_close(rows.json);
	cmd_rows_end(&rows);
}

static int run(struct cmd *cmd, struct err *err)
{
	autosurvey struct world world = { 0 };
	size_t n;

	if (cmd_survey(cmd, &world, err) < 0 || cmd_check_type(cmd, err) < 0 ||
	    (cmd->call->pgpu && !cards_pgpu(&world, cmd->call->pgpu, err)))
		return -err->code;
	autofree struct kind *kinds = find_kinds(cmd->call, &world, &n);
	print(cmd, &world, kinds, n);
	if (!n && !cmd->call->json && !cmd->call->pgpu && !cmd->call->type)
		out_warn("no pGPU is ready on this host; 'vgpu-lease inventory' shows why");
	return CMD_DONE;
}

const struct command cmd_types = {
	.name = "types",
	.options = CMD_TABLE | CMD_PGPU | CMD_TYPE,
	.summary = "List the vGPU types that the pGPUs provide",
	.help = "CAPACITY, USED and AVAILABLE count the pGPUs configured for the type, marked\n"
		"with *. HOST is the number available on all pGPUs of the host. CLASS is shown\n"
		"for enabled types. The types of a pGPU share its capacity, so their numbers\n"
		"cannot be summed.\n",
	.table = &layout,
	.check = cmd_check_filters,
	.run = run,
};
