/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* vgpu-lease inventory, types: list the pGPUs with any problems, and their vGPU types. */
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "cli/status.h"

static const struct table_layout inventory_layout = {
	.columns = { COL_PGPU, COL_MODEL, COL_NUMA, COL_VFS, COL_TYPE, COL_CAPACITY, COL_USED, COL_AVAILABLE,
		     COL_REASON },
	.more = { COL_FRAMEWORK },
	.narrow = { COL_VFS, COL_NUMA, COL_MODEL },
};

static int inventory(struct cmd *cmd, struct err *err)
{
	const char *type = cmd->call->type;
	autostatus struct status status = { 0 };
	struct rows *rows;
	size_t n = 0;

	if (status_read(&status, cmd, err) < 0)
		return -err->code;
	rows = cmd_rows(cmd, &inventory_layout, NULL);
	json_out_object(rows->json, "driver");
	if (*cmd->world.inv.nvidia_driver)
		json_out_string(rows->json, "nvidia", cmd->world.inv.nvidia_driver);
	json_out_close(rows->json);
	json_out_array(rows->json, "pgpus");
	for (EACH(const struct card_row *, row, status.rows, status.nrows)) {
		if (type && !cards_serve(row, type))
			continue;
		row_begin(rows);
		cards_fields(rows, &cmd->world, row);
		row_end(rows);
		n++;
	}
	cmd_rows_end(cmd);
	if (!n && type && !cmd->call->pgpu)
		out_warn("no pGPU is configured for %s; 'vgpu-lease types' shows which provide it", type);
	return CMD_DONE;
}

const struct command cmd_inventory = {
	.name = "inventory",
	.options = CMD_TABLE | CMD_PGPU | CMD_TYPE,
	.summary = "List physical GPUs, their types and any problems",
	.help = "TYPE is the configured type, or the first of several; CAPACITY, USED and\n"
		"AVAILABLE count it (--json has all types). REASON is why the pGPU is not in the\n"
		"pool or has no capacity available. pGPUs that the configuration names but that\n"
		"provide no vGPUs are listed as well. If no pool is configured, every NVIDIA, AMD\n"
		"or Intel GPU that could have vGPUs is listed.\n",
	.table = &inventory_layout,
	.run = inventory,
};

static bool in_pool(const struct inv_pgpu *card, const char *type)
{
	return card->pool.in_pool && pool_serves(card, type);
}

/* Does the type match the filters, and is `pgpu` (without --pgpu) the first card that offers it? */
static bool is_shown(const struct cmd_call *call, const struct inventory *inv, size_t pgpu, const char *type)
{
	if (call->pgpu && strcmp(call->pgpu, inv->pgpus[pgpu]->address) != 0)
		return false;
	for (size_t g = 0; !call->pgpu && g < pgpu; g++)
		if (inventory_offer(inv->pgpus[g], type))
			return false;
	return !call->type || strcmp(call->type, type) == 0;
}

static const struct table_layout types_layout = {
	.columns = { COL_TYPE, COL_NAME, COL_CLASS, COL_MIB, COL_HEADS, COL_RESOLUTION, COL_CAPACITY, COL_USED,
		     COL_AVAILABLE, COL_HOST, COL_PGPUS },
	.more = { COL_FRAMEWORK },
	.narrow = { COL_RESOLUTION, COL_HEADS, COL_CLASS, COL_PGPUS, COL_HOST, COL_MIB, COL_NAME },
};

static void add_count(struct capacity_count *sum, const struct capacity_count *count)
{
	sum->capacity += count->capacity;
	sum->used += count->used;
	sum->available += count->available;
}

/* Prints a type, and all cards that offer it. A star marks the cards that are configured for the type. */
static void print_type(struct rows *rows, const struct world *world, const struct inv_type *type,
		       enum framework framework)
{
	struct capacity_count pool = { 0 }, host = { 0 }, count;
	struct rows pgpus = { .json = rows->json };
	autofree char *list = NULL;
	const char *comma = "";
	size_t size;
	FILE *to = mem_open(&list, &size);

	for (size_t g = 0; g < world->inv.npgpus; g++) {
		const struct inv_pgpu *card = world->inv.pgpus[g];

		if (!capacity_count(&count, world, card, inventory_offer(card, type->id)))
			continue;
		fprintf(to, "%s%s%s", comma, card->address, in_pool(card, type->id) ? "*" : "");
		comma = ", ";
		add_count(&host, &count);
		if (in_pool(card, type->id))
			add_count(&pool, &count);
	}
	mem_close(to);
	row_begin(rows);
	row_type(rows, type, world->config);
	row_text(rows, COL_FRAMEWORK, "framework", framework_words[framework]);
	row_count(rows, &pool);
	table_number(&rows->table, COL_HOST, host.available);
	table_text(&rows->table, COL_PGPUS, list);
	json_out_object(rows->json, "host");
	row_count(&pgpus, &host);
	json_out_close(rows->json);
	json_out_array(rows->json, "pgpus");
	for (size_t g = 0; g < world->inv.npgpus; g++) {
		const struct inv_pgpu *card = world->inv.pgpus[g];

		if (!capacity_count(&count, world, card, inventory_offer(card, type->id)))
			continue;
		row_begin(&pgpus);
		json_out_string(pgpus.json, "address", card->address);
		json_out_bool(pgpus.json, "in_pool", in_pool(card, type->id));
		row_count(&pgpus, &count);
		row_end(&pgpus);
	}
	json_out_close(rows->json);
	row_end(rows);
}

static int types(struct cmd *cmd, struct err *err)
{
	const struct world *world = &cmd->world;
	const struct inventory *inv = &world->inv;
	struct rows *rows;
	size_t n = 0;

	if (cmd_survey(cmd, err) < 0 || cmd_check_filters(cmd, err) < 0 ||
	    (cmd->call->pgpu && !cards_pgpu(world, cmd->call->pgpu, err)))
		return -err->code;
	rows = cmd_rows(cmd, &types_layout, "types");
	for (size_t g = 0; g < inv->npgpus; g++)
		for (EACH(const struct inv_offer *, offer, inv->pgpus[g]->offers, inv->pgpus[g]->noffers)) {
			if (!is_shown(cmd->call, inv, g, offer->type->id))
				continue;
			print_type(rows, world, offer->type, inv->pgpus[g]->framework);
			n++;
		}
	cmd_rows_end(cmd);
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
	.table = &types_layout,
	.run = types,
};
