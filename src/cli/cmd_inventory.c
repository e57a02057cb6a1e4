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

static void print(const struct cmd *cmd, const struct world *world, const struct card_row *row, size_t n)
{
	struct udev_names *names = udev_names_open();
	struct rows rows;

	cmd_rows_begin(&rows, cmd, &layout);
	json_out_object(rows.json, "driver");
	if (*world->inv.nvidia_driver)
		json_out_string(rows.json, "nvidia", world->inv.nvidia_driver);
	json_out_close(rows.json);
	json_out_array(rows.json, "pgpus");
	for (; n--; row++) {
		row_begin(&rows);
		cards_fields(&rows, world, row, udev_names_find(names, row->card.vendor, row->card.device));
		row_end(&rows);
	}
	json_out_close(rows.json);
	cmd_rows_end(&rows);
	udev_names_close(names);
}

static int run(struct cmd *cmd, struct err *err)
{
	autosurvey struct world world = { 0 };
	autofree struct card_row *rows = NULL;
	const char *type = cmd->call->type;
	size_t all = 0, n = 0;

	if (cmd_survey(cmd, &world, err) < 0 || cmd_check_type(cmd, err) < 0 ||
	    cards_find(cmd, &world, &rows, &all, err) < 0)
		return -err->code;
	for (size_t i = 0; i < all; i++)
		if (!type || cards_serve(&world, &rows[i], type))
			rows[n++] = rows[i];
	print(cmd, &world, rows, n);
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
