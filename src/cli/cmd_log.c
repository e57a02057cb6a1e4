/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* vgpu-lease log: what happened to vGPUs, from the journal. */
#include <errno.h>

#include "cli/cards.h"
#include "cli/domains.h"
#include "cli/events.h"
#include "cli/show.h"
#include "state/lease_store.h"

/* Does this host have such an object? What cannot be told counts as yes: who reads the journal may not read leases. */
static int find_object(struct cmd *cmd, const char *object, struct err *err)
{
	autoleases struct leases leases = { 0 };
	struct err why;

	switch (show_kind(cmd)) {
	case SHOW_VGPU:
		return 0;
	case SHOW_PGPU:
		cmd_take_pgpu(cmd, object);
		return lease_list(&cmd->store, &leases, &why) < 0 ? 0 : cards_check_pgpu(cmd, &leases, err);
	case SHOW_DOMAIN:
		break;
	}
	if (domains_know(cmd, object, &why))
		return 0;
	err_set(err, ENOENT, "%s: no events, and no such domain, vGPU or pGPU on this host", object);
	return domains_suggest(cmd, object, err);
}

/* No events since --since: an error if there are none before either, and the host does not know the object. */
static int check_object(const struct cmd *cmd, const struct events_query *query, struct err *err)
{
	const struct events_query ever = { .root = query->root, .object = query->object, .last = 1, .count = true };
	struct cmd now;
	struct err why;
	int r = 0;

	if (!query->object || events_print(&ever, NULL, &why) != 0)
		return 0;
	if (cmd_open(&now, cmd->call, CMD_CONFIG_OWN, &why) == 0)
		r = find_object(&now, query->object, err);
	cmd_close(&now);
	return r;
}

static int run(struct cmd *cmd, struct err *err)
{
	const struct args *args = &cmd->call->args;
	char id[ID_SIZE];
	const char *object = args->noperands ? args->operands[0] : NULL;
	struct events_query query = { .root = args->root, .object = object && id_parse(id, object) ? id : object };
	struct json_out json;
	bool none;
	int r;

	if (cmd->call->since)
		events_since(&query.since_us, cmd->call->since, time(NULL));
	if (cmd->call->json) {
		cmd_json_begin(&json, NULL);
		json_out_array(&json, "events");
	}
	r = events_print(&query, cmd->call->json ? &json : NULL, err);
	none = r == 0;
	if (none)
		r = check_object(cmd, &query, err);
	/* A script counts lines; somebody at a terminal wonders at an empty answer. */
	if (none && r == 0 && !cmd->call->json && term_stdout()->width)
		out_say("no events in the journal");
	if (cmd->call->json) {
		json_out_close(&json);
		json_out_string(&json, "error", r < 0 ? err->text : NULL);
		json_out_end(&json);
	}
	return r < 0 ? r : CMD_DONE;
}

static int check_call(const struct cmd_call *call, struct err *err)
{
	int64_t ignored;

	if (!call->since || events_since(&ignored, call->since, time(NULL)))
		return 0;
	return err_set(err, EINVAL, "invalid time '%s': expected " EVENTS_SINCE_FORMS, call->since);
}

const struct command cmd_log = {
	.name = "log",
	.operand = "[OBJECT]",
	.options = CMD_JSON | CMD_SINCE,
	.needs = CMD_BARE,
	.summary = "Show the events of vGPUs from the journal",
	.help = "OBJECT is a domain (name or UUID), a vGPU (ID) or a pGPU; the default is all\n"
		"events. Each line has the time, the event (created, adopted, reserved, restored,\n"
		"refused, failed, released, delayed or reclaimed) and the message. TIME is\n" EVENTS_SINCE_FORMS ".\n",
	.check = check_call,
	.run = run,
};
