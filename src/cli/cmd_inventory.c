/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* vgpu-lease inventory: lists the pGPUs, their types and any problems. */

#include "cli/status.h"

static const struct table_layout layout = {
	.columns = { COL_PGPU, COL_MODEL, COL_NUMA, COL_VFS, COL_TYPE, COL_CAPACITY, COL_USED, COL_AVAILABLE,
		     COL_REASON },
	.more = { COL_FRAMEWORK },
	.narrow = { COL_VFS, COL_NUMA, COL_MODEL },
};

static int run(struct cmd *cmd, struct err *err)
{
	const char *type = cmd->call->type;
	struct status status = { 0 };
	struct rows rows;
	size_t n = 0;

	if (status_read(&status, cmd, err) < 0) {
		status_end(&status);
		return -err->code;
	}
	cmd_rows_begin(&rows, cmd, &layout, NULL);
	json_out_object(rows.json, "driver");
	if (*status.world.inv.nvidia_driver)
		json_out_string(rows.json, "nvidia", status.world.inv.nvidia_driver);
	json_out_close(rows.json);
	json_out_array(rows.json, "pgpus");
	for (const struct card_row *row = status.rows; row < status.rows + status.nrows; row++) {
		if (type && !cards_serve(row, type))
			continue;
		row_begin(&rows);
		cards_fields(&rows, &status.world, row);
		row_end(&rows);
		n++;
	}
	cmd_rows_end(&rows);
	status_end(&status);
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
	.run = run,
};
