/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* vgpu-lease log: what happened to vGPUs, from the journal. */
#include <errno.h>

#include "cli/cmd.h"
#include "cli/events.h"

static int run(struct cmd *cmd, struct err *err)
{
	const struct args *args = &cmd->call->args;
	const struct events_query query = { .root = args->root,
					    .object = args->noperands ? args->operands[0] : NULL,
					    .since = cmd->call->since };
	struct json_out json;
	int r;

	if (!cmd->call->json)
		return events_print(&query, NULL, err) < 0 ? -err->code : CMD_DONE;
	cmd_json_begin(&json, NULL);
	json_out_array(&json, "events");
	r = events_print(&query, &json, err);
	json_out_close(&json);
	json_out_string(&json, "error", r < 0 ? err->text : NULL);
	json_out_end(&json);
	return r < 0 ? r : CMD_DONE;
}

static int check_call(const struct cmd_call *call, struct err *err)
{
	if (!call->since || events_know_time(call->since))
		return 0;
	return err_set(err, EINVAL, "invalid time '%s': expected one as in journalctl(1): '2026-01-31 14:00', -1h",
		       call->since);
}

const struct command cmd_log = {
	.name = "log",
	.operand = "[OBJECT]",
	.options = CMD_JSON | CMD_SINCE,
	.needs = CMD_BARE,
	.summary = "Show what happened to vGPUs, from the journal",
	.help = "OBJECT is a domain (name or UUID), a vGPU (ID) or a pGPU; without it, all events\n"
		"are shown. Each line has the time, the event (created, adopted, reserved,\n"
		"restored, refused, failed, released, delayed, reclaimed) and the message.\n"
		"TIME is as in journalctl(1): '2026-01-31 14:00', yesterday, -1h.\n",
	.check = check_call,
	.run = run,
};
