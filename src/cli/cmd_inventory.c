/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* vgpu-lease inventory: the host's pGPUs, what each serves, and why one does not. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/udev.h"
#include "cli/cards.h"

static const struct table_layout layout = {
	.columns = { COL_PGPU, COL_MODEL, COL_NUMA, COL_VFS, COL_TYPE, COL_CAPACITY, COL_USED, COL_AVAILABLE,
		     COL_REASON },
	.more = { COL_FRAMEWORK },
	.narrow = { COL_VFS, COL_NUMA, COL_MODEL },
};

static void table_card(struct table *table, const struct card_row *row, const char *model)
{
	const struct inv_pgpu *card = &row->card;

	table_row(table, card->address);
	if (model)
		table_row(table, model);
	else
		table_addf(table, "%s%s%s", card->vendor, *card->vendor ? ":" : "", card->device);
	table_number(table, card->numa);
	table_number(table, row->pgpu ? card->nvfs : UNKNOWN);
	table_row(table, row->type);
	out_table_count(table, &row->count);
	table_row(table, row->reason, framework_word(card->framework));
}

static void print(const struct cmd *cmd, const struct world *survey, const struct card_row *rows, size_t n)
{
	struct udev_names *names = udev_names_open();
	struct json_out json;
	struct table table;

	if (cmd->call->json) {
		cmd_json_begin(&json, cmd);
		json_out_object(&json, "driver");
		if (*survey->inv.nvidia_driver)
			json_out_string(&json, "nvidia", survey->inv.nvidia_driver);
		json_out_close(&json);
		json_out_array(&json, "pgpus");
	} else {
		table_start(&table, &layout, &cmd->call->table);
	}
	for (const struct card_row *row = rows; row < rows + n; row++) {
		const char *model = udev_names_find(names, row->card.vendor, row->card.device);

		if (!cmd->call->json) {
			table_card(&table, row, model);
			continue;
		}
		json_out_object(&json, NULL);
		cards_json(&json, survey, row, model);
		json_out_close(&json);
	}
	if (cmd->call->json) {
		json_out_close(&json);
		json_out_end(&json);
	} else {
		table_end(&table, stdout, term_stdout());
	}
	udev_names_close(names);
}

static int run(struct cmd *cmd, struct err *err)
{
	autosurvey struct world survey = { 0 };
	autofree struct card_row *rows = NULL;
	const char *type = cmd->call->type;
	size_t all = 0, n = 0;

	if (cmd_survey(cmd, &survey, err) < 0 || cmd_check_type(cmd, err) < 0 ||
	    cards_find(cmd, &survey, &rows, &all, err) < 0)
		return -err->code;
	for (size_t i = 0; i < all; i++)
		if (!type || cards_serve(&survey, &rows[i], type))
			rows[n++] = rows[i];
	print(cmd, &survey, rows, n);
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
	.table = &layout,
	.check = cmd_check_filters,
	.run = run,
};
