/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* vgpu-lease status: the host at a glance. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/status.h"
#include "cli/watch.h"

static void print_json(const struct status *status)
{
	struct json_out json;

	cmd_json_begin(&json, status->cmd);
	json_out_string(&json, "host", status->host);
	json_out_text(&json, "nvidia_driver", status->world.inv.nvidia_driver);
	json_out_array(&json, "problems");
	for (size_t i = 0; i < status->check.n; i++)
		if (status->check.findings[i].status != CHECK_PASS)
			out_json_finding(&json, &status->check.findings[i]);
	json_out_close(&json);
	json_out_array(&json, "pgpus");
	for (size_t row = 0; row < status->nrows; row++)
		status_json_pgpu(&json, status, row);
	json_out_close(&json);
	/* Of pGPUs that the host no longer has. */
	status_json_vgpus(&json, status, status->nrows);
	json_out_end(&json);
}

static void look(struct status *status, const struct cmd *cmd)
{
	char name[sizeof(status->host)] = "";

	status->check = (struct check){ .host = &cmd->host,
					.config_path = cmd->call->args.config,
					.simulated = cmd->call->args.root != NULL,
					.glance = true };
	check_run(&status->check);
	if (gethostname(name, sizeof(name) - 1) < 0)
		text_copy(name, sizeof(name), "this host");
	text_cut(status->host, sizeof(status->host), cmd->call->args.root ? cmd->call->args.root : name);
}

static int draw(struct cmd *cmd, const struct term *term, struct err *err)
{
	struct status status = { 0 };
	int r = status_read(&status, cmd, err);

	if (r == 0)
		look(&status, cmd);
	if (r == 0 && cmd->call->json)
		print_json(&status);
	else if (r == 0)
		status_print(&status, term);
	check_free(&status.check);
	status_end(&status);
	return r;
}

static int run(struct cmd *cmd, struct err *err)
{
	return cmd->call->watch ? watch_run(cmd, draw, err) : draw(cmd, term_stdout(), err);
}

static int check_call(const struct cmd_call *call, struct err *err)
{
	if (call->watch && call->json)
		return err_set(err, EINVAL, "--watch does not take --json");
	return cmd_check_filters(call, err);
}

const struct command cmd_status = {
	.name = "status",
	.options = CMD_JSON | CMD_DOMAIN | CMD_PGPU | CMD_TYPE | CMD_STATE | CMD_WATCH,
	.summary = "Show the host at a glance (default command)",
	.help = "Print a tree of the host: the problems that 'vgpu-lease check' finds, then each\n"
		"pGPU with its framebuffer and instances in use, and its vGPUs with domain, type,\n"
		"framebuffer, state, time in this state, and ID. A narrow terminal omits the\n"
		"framebuffer or the ID. Problems do not change the exit status.\n"
		"\n"
		"--domain, --type and --state select vGPUs, and the pGPUs that have them; --type\n"
		"alone also selects the pGPUs configured for it. The bars always show the whole\n"
		"pGPU.\n"
		"\n"
		"--watch updates the tree whenever a lease or a device changes; q ends it.\n",
	.needs = CMD_CONFIG_OWN,
	.check = check_call,
	.run = run,
};
