/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* vgpu-lease list: which domain has which vGPU. */
#include <stdio.h>
#include <string.h>

#include "cli/cmd.h"
#include "ops/gc.h"
#include "cli/json_out.h"
#include "cli/table.h"

enum { NOTE_SIZE = REASON_SIZE + 64 };

/* What is wrong with a lease, or is about to happen to it; NULL where all is well. */
static const char *note_of(const struct gc_item *item, char buf[NOTE_SIZE])
{
	bool active = item && item->lease.state == LEASE_ACTIVE;
	/* Of a plain VF there is nothing to see but that it is there. */
	bool exists = item && (item->exists || item->vgpu.framework == FW_VF);

	if (!item || (active && exists && item->outcome == GC_STAYS))
		return NULL;
	if (item->outcome != GC_GOES)
		return active ? "its device is gone" : item->why;
	snprintf(buf, NOTE_SIZE, "%s: 'vgpu-lease gc' collects it", item->why);
	return buf;
}

/* The verdicts are of a moment later than the list: a lease may be new or gone. */
static const struct gc_item *verdict_on(const struct gc *verdicts, const char *id)
{
	for (size_t i = 0; i < verdicts->n && verdicts->items[i].leased; i++)
		if (strcmp(verdicts->items[i].vgpu.id, id) == 0)
			return &verdicts->items[i];
	return NULL;
}

static void print_json(const struct cmd *cmd, const struct leases *leases, const struct gc *verdicts)
{
	struct json_out json;

	cmd_json_begin(&json, cmd);
	json_out_array(&json, "leases");
	for (size_t i = 0; i < leases->n; i++) {
		const struct lease *l = &leases->list[i];
		char since[32], note[NOTE_SIZE];

		cmd_wall_time(since, l->since_ms);
		json_out_object(&json, NULL);
		json_out_string(&json, "id", l->vgpu.id);
		json_out_string(&json, "uuid", l->vgpu.framework == FW_MDEV ? l->vgpu.id : NULL);
		json_out_string(&json, "type", l->vgpu.type);
		json_out_string(&json, "framework", framework_word(l->vgpu.framework));
		json_out_string(&json, "parent", l->vgpu.parent);
		json_out_string(&json, "pgpu", l->vgpu.pgpu);
		json_out_known(&json, "numa_node", l->numa);
		json_out_string(&json, "state", lease_state_word(l->state));
		json_out_string(&json, "origin", lease_origin_word(l->origin));
		json_out_text(&json, "project", l->project);
		json_out_object(&json, "domain");
		json_out_string(&json, "uuid", l->domain);
		json_out_string(&json, "name", l->name);
		json_out_close(&json);
		json_out_string(&json, "since", since);
		json_out_string(&json, "note", note_of(verdict_on(verdicts, l->vgpu.id), note));
		json_out_close(&json);
	}
	json_out_close(&json);
	json_out_end(&json);
}

static void print_table(const struct leases *leases, const struct gc *verdicts)
{
	static const char *const heading[] = { "ID",    "TYPE",   "PARENT", "STATE", "ORIGIN",
					       "SINCE", "DOMAIN", "NOTE",   NULL };
	struct table table;

	table_start(&table, heading);
	for (size_t i = 0; i < leases->n; i++) {
		const struct lease *l = &leases->list[i];
		char since[32], buf[NOTE_SIZE];
		const char *note = note_of(verdict_on(verdicts, l->vgpu.id), buf);

		cmd_wall_time(since, l->since_ms);
		table_add(&table, l->vgpu.id);
		table_add(&table, l->vgpu.type);
		table_add(&table, l->vgpu.parent);
		table_add(&table, lease_state_word(l->state));
		table_add(&table, lease_origin_word(l->origin));
		table_add(&table, since);
		table_add(&table, l->name);
		table_add(&table, note ? note : "");
	}
	table_end(&table, stdout);
}

static int list(struct cmd *cmd, struct err *err)
{
	struct gc verdicts = { .store = &cmd->store,
			       .config = cmd->has_config ? &cmd->config : NULL,
			       .policy = &cmd->config.policy,
			       .dry = true };
	struct leases leases;
	struct err why = { 0 };

	if (lease_list(&cmd->store, &leases, err) < 0)
		return -err->code;
	if (leases.garbage)
		cmd_warn("%d file%s in /run/vgpu-lease/leases cannot be understood: 'vgpu-lease gc' sets them aside",
			 leases.garbage, leases.garbage == 1 ? "" : "s");
	if (leases.n && gc_run(&verdicts, &why) < 0)
		cmd_warn("no notes: %s", why.text);
	if (cmd->call->json)
		print_json(cmd, &leases, &verdicts);
	else
		print_table(&leases, &verdicts);
	gc_free(&verdicts);
	lease_list_free(&leases);
	return CMD_DONE;
}

const struct command cmd_list = {
	.name = "list",
	.options = CMD_JSON,
	.summary = "shows the leases: which domain has which vGPU",
	.help = "STATE is reserved (for a domain that migrates or is restored), creating, active or releasing (to be given\n"
		"back when nobody has it open). ORIGIN is created (by the hook, which removes it in the end) or adopted (it\n"
		"was there before, and stays). SINCE is when it entered its state. NOTE says what is not as it should be.\n",
	.show = list,
};
