/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The host's pGPUs as commands show them. */
#include "cli/cards.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/udev.h"
#include "survey/missing_cards.h"

static struct card_row row_of_card(const struct cmd *cmd, const struct world *world, const struct inv_pgpu *card)
{
	const struct pool_card *pooled = &card->pool;
	struct card_row row = { .card = *card,
				.pgpu = card,
				.in_pool = pooled->in_pool,
				.type = pooled->section ? pooled->section->type : "",
				.count = { .capacity = UNKNOWN, .used = UNKNOWN, .available = UNKNOWN } };
	const struct inv_offer *offer = inventory_offer(card, row.type);
	const char *reason = row.count.reason;

	if (offer)
		capacity_count(&row.count, world, card, offer);
	if (!pooled->in_pool)
		reason = !card->ready ? card->reason : cmd->has_config ? pooled->reason : cmd->why_no_config;
	snprintf(row.reason, sizeof(row.reason), "%.*s", (int)sizeof(row.reason) - 1, reason);
	return row;
}

static struct card_row row_of_missing(const struct world *world, const struct missing_card *missing)
{
	struct card_row row = { .type = missing->section->type,
				.count = { .capacity = UNKNOWN, .used = UNKNOWN, .available = UNKNOWN } };

	inventory_read_card(world->host, missing->address, &row.card);
	row.card.framework = missing->section->vf ? FW_VF : FW_MDEV;
	memcpy(row.card.address, missing->address, sizeof(row.card.address));
	memcpy(row.reason, missing->reason, sizeof(row.reason));
	return row;
}

bool cards_serve(const struct world *world, const struct card_row *row, const char *type)
{
	return strcmp(type, row->type) == 0 || (row->pgpu && pool_serves(&world->inv, row->pgpu, type));
}

/* Why there is no such pGPU, and the one with the most similar name. */
static int refuse(const struct world *world, const char *name, struct err *err)
{
	char reason[REASON_SIZE], parent[PARENT_SIZE];
	struct text_guess guess = { .word = name };

	parent_parse(parent, name);
	for (size_t i = 0; i < world->inv.npgpus; i++)
		text_guess(&guess, world->inv.pgpus[i]->address);
	inventory_explain_card(world->host, parent, false, reason);
	return err_set(err, ENOENT, "%s: %s%s%s", name, reason, guess.best ? "; similar: " : "",
		       guess.best ? guess.best : "");
}

/* Of the cards that --pgpu lets pass. */
static void add_row(const struct cmd *cmd, struct card_row *rows, size_t *n, struct card_row row)
{
	if (!cmd->call->pgpu || pool_address_is(cmd->call->pgpu, row.card.address))
		rows[(*n)++] = row;
}

static void name_models(struct card_row *rows, size_t n)
{
	struct udev_names *names = udev_names_open();

	for (struct card_row *row = rows; row < rows + n; row++) {
		const char *model = udev_names_find(names, row->card.vendor, row->card.device);

		text_cut(row->model, sizeof(row->model), model ? model : "");
	}
	udev_names_close(names);
}

int cards_find(const struct cmd *cmd, const struct world *world, struct card_row **rows, size_t *n, struct err *err)
{
	autofree struct missing_card *missing = NULL;
	size_t nmissing;

	if (missing_cards(&missing, &nmissing, world->host, &world->inv, err) < 0)
		return -err->code;
	*rows = mem_new(world->inv.npgpus + nmissing + 1, sizeof(**rows));
	*n = 0;
	for (size_t i = 0; i < world->inv.npgpus; i++)
		add_row(cmd, *rows, n, row_of_card(cmd, world, world->inv.pgpus[i]));
	for (size_t i = 0; i < nmissing; i++) {
		size_t seen = 0;

		while (seen < *n && strcmp((*rows)[seen].card.address, missing[i].address) != 0)
			seen++;
		if (seen == *n || missing[i].how == MISSING_NAMED)
			add_row(cmd, *rows, n, row_of_missing(world, &missing[i]));
	}
	name_models(*rows, *n);
	return *n || !cmd->call->pgpu ? 0 : refuse(world, cmd->call->pgpu, err);
}

int cards_check_pgpu(struct cmd *cmd, const struct leases *leases, struct err *err)
{
	autosurvey struct world world = { 0 };
	autofree struct card_row *rows = NULL;
	const char *known = NULL;
	size_t n = 0;

	if (!cmd->call->pgpu)
		return 0;
	for (size_t i = 0; !known && i < leases->n; i++)
		if (pool_address_is(cmd->call->pgpu, leases->list[i].vgpu.pgpu) ||
		    pool_address_is(cmd->call->pgpu, leases->list[i].vgpu.parent))
			known = leases->list[i].vgpu.pgpu;
	if (!known && (cmd_survey(cmd, &world, err) < 0 || cards_find(cmd, &world, &rows, &n, err) < 0))
		return -err->code;
	text_copy(cmd->pgpu, sizeof(cmd->pgpu), known ? known : rows[0].card.address);
	cmd->call->pgpu = cmd->pgpu;
	return 0;
}

const struct inv_pgpu *cards_pgpu(const struct world *world, const char *name, struct err *err)
{
	for (size_t i = 0; i < world->inv.npgpus; i++)
		if (pool_address_is(name, world->inv.pgpus[i]->address))
			return world->inv.pgpus[i];
	refuse(world, name, err);
	return NULL;
}

void cards_offers(struct rows *rows, const struct world *world, const struct card_row *row)
{
	for (size_t i = 0; row->pgpu && i < row->card.noffers; i++) {
		const struct inv_type *type = row->card.offers[i].type;
		bool configured = pool_serves(&world->inv, row->pgpu, type->id);
		struct capacity_count count;

		capacity_count(&count, world, row->pgpu, &row->card.offers[i]);
		row_begin(rows);
		row_type(rows, type, world->config);
		row_count(rows, &count);
		table_text(&rows->table, COL_REASON, configured ? count.reason : "not configured");
		json_out_text(rows->json, "reason", count.reason);
		json_out_bool(rows->json, "configured", configured);
		row_end(rows);
	}
}

void cards_fields(struct rows *rows, const struct world *world, const struct card_row *row)
{
	const struct inv_pgpu *card = &row->card;
	struct rows types = { .json = rows->json };
	char ids[2 * sizeof(card->vendor)];

	snprintf(ids, sizeof(ids), "%s%s%s", card->vendor, *card->vendor ? ":" : "", card->device);
	row_text(rows, COL_PGPU, "address", card->address);
	row_text(rows, COL_FRAMEWORK, "framework", framework_word(card->framework));
	json_out_text(rows->json, "vendor", card->vendor);
	json_out_text(rows->json, "device", card->device);
	table_text(&rows->table, COL_MODEL, *row->model ? row->model : ids);
	json_out_text(rows->json, "model", row->model);
	row_number(rows, COL_NUMA, "numa_node", card->numa);
	row_number(rows, COL_VFS, "vfs", row->pgpu ? card->nvfs : UNKNOWN);
	row_text(rows, COL_TYPE, "type", row->type);
	table_number(&rows->table, COL_CAPACITY, row->count.capacity);
	table_number(&rows->table, COL_USED, row->count.used);
	table_number(&rows->table, COL_AVAILABLE, row->count.available);
	json_out_bool(rows->json, "in_pool", row->in_pool);
	json_out_bool(rows->json, "ready", card->ready);
	row_text(rows, COL_REASON, "reason", row->reason);
	json_out_array(rows->json, "types");
	cards_offers(&types, world, row);
	json_out_close(rows->json);
}
