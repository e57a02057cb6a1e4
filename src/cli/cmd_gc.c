/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* vgpu-lease gc: gives back what no domain asks for any more, and removes orphans. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "cli/cmd.h"
#include "ops/gc.h"
#include "base/ident.h"
#include "cli/json_out.h"
#include "base/log.h"
#include "cli/table.h"

/* What happens to an item, or did: "remove", "removed", "drop", ... */
static const char *outcome_word(const struct gc_item *item)
{
	switch (item->outcome) {
	case GC_GOES:
		return item->removes ? "remove" : "drop";
	case GC_GONE:
		return item->removes ? "removed" : "dropped";
	case GC_FAILED:
		return "failed";
	case GC_STAYS:
		break;
	}
	return "stays";
}

static void print_table(const struct gc *pass)
{
	static const char *const heading[] = { "WHAT", "ID", "TYPE", "PARENT", "LEASE", "DOMAIN", "WHY", NULL };
	struct table table;

	table_start(&table, heading);
	for (size_t i = 0; i < pass->n; i++) {
		const struct gc_item *item = &pass->items[i];

		table_add(&table, outcome_word(item));
		table_add(&table, item->vgpu.id);
		table_add(&table, item->vgpu.type);
		table_add(&table, item->vgpu.parent);
		table_add(&table, item->leased ? lease_state_word(item->lease.state) : "");
		table_add(&table, item->lease.name);
		if (item->outcome == GC_FAILED)
			table_addf(&table, "%s; but: %s", item->why, item->trouble);
		else
			table_add(&table, item->why);
	}
	table_end(&table, stdout);
}

static void print_json(const struct cmd *cmd, const struct gc *pass)
{
	struct json_out json;

	cmd_json_begin(&json, cmd);
	json_out_array(&json, "items");
	for (size_t i = 0; i < pass->n; i++) {
		const struct gc_item *item = &pass->items[i];

		json_out_object(&json, NULL);
		json_out_string(&json, "id", item->vgpu.id);
		json_out_text(&json, "type", item->vgpu.type);
		json_out_string(&json, "framework", framework_word(item->vgpu.framework));
		json_out_string(&json, "parent", item->vgpu.parent);
		json_out_string(&json, "pgpu", item->vgpu.pgpu);
		json_out_string(&json, "state", item->leased ? lease_state_word(item->lease.state) : NULL);
		if (item->leased) {
			json_out_object(&json, "domain");
			json_out_string(&json, "uuid", item->lease.domain);
			json_out_string(&json, "name", item->lease.name);
			json_out_close(&json);
		} else {
			json_out_string(&json, "domain", NULL);
		}
		json_out_string(&json, "outcome", outcome_word(item));
		json_out_string(&json, "reason", item->why);
		json_out_text(&json, "error", item->trouble);
		json_out_close(&json);
	}
	json_out_close(&json);
	json_out_end(&json);
}

/* Is there, or could there be, a vGPU of this type here? A typo would find nothing to do. */
static int check_type(const struct cmd *cmd, const char *type, struct err *err)
{
	autofree struct inv_name *known = NULL;
	size_t n;
	struct leases leases;
	bool found = config_section(&cmd->config, type);
	int r = inventory_names(&cmd->host, INV_ALL, &known, &n, err);

	for (size_t i = 0; r == 0 && i < n && !found; i++)
		found = strcmp(known[i].id, type) == 0;
	if (r == 0 && !found)
		r = lease_list(&cmd->store, &leases, err);
	else
		return r;
	for (size_t i = 0; r == 0 && i < leases.n; i++)
		found |= strcmp(leases.list[i].vgpu.type, type) == 0;
	lease_list_free(&leases);
	return r < 0 || found
		       ? r
		       : err_set(err, ENOENT,
				 "--type %s: no such type here: 'vgpu-lease types' lists those that there are", type);
}

static int gc(struct cmd *cmd, struct err *err)
{
	struct gc pass = { .store = &cmd->store,
			   .config = cmd->has_config ? &cmd->config : NULL,
			   .policy = &cmd->config.policy,
			   .type = cmd->call->type,
			   .dry = cmd->call->dry_run };
	int failed = 0, r = pass.type ? check_type(cmd, pass.type, err) : 0;

	if (r == 0)
		r = gc_run(&pass, err);

	if (r < 0)
		return r;
	if (pass.garbage)
		cmd_warn("%d file%s in /run/vgpu-lease/leases could not be understood%s", pass.garbage,
			 pass.garbage == 1 ? "" : "s", pass.dry ? "" : ": now in /run/vgpu-lease/garbage");
	for (size_t i = 0; i < pass.n; i++)
		failed += pass.items[i].outcome == GC_FAILED;
	if (cmd->call->json)
		print_json(cmd, &pass);
	else
		print_table(&pass);
	gc_free(&pass);
	if (failed)
		return err_set(err, EBUSY, "%d of these could not be given back: see why, then run gc again", failed);
	return CMD_DONE;
}

static int run(const struct cmd_call *call, struct err *err)
{
	char type[TYPE_SIZE];
	struct cmd cmd;
	int r;

	if (call->type && !type_parse(type, call->type)) {
		err_set(err, EINVAL, "--type %s: that is no type's id", call->type);
		return CMD_USAGE;
	}
	if (!call->root && !call->dry_run)
		log_open("vgpu-lease");
	r = cmd_open(&cmd, call, CMD_CONFIG_MAY, !call->dry_run, err);
	if (r == 0)
		r = gc(&cmd, err);
	cmd_close(&cmd);
	return r;
}

const struct command cmd_gc = {
	.name = "gc",
	.options = CMD_JSON | CMD_DRY_RUN | CMD_TYPE,
	.summary = "gives back what no domain needs any more, and removes orphans",
	.help = "Leases whose domain no longer runs, that have expired, or only wait to be given back; and orphans: devices\n"
		"that nobody has open, that no lease and no domain's XML on this host names, that mdevctl does not start at\n"
		"boot, and that have been idle for reclaim_grace since they were first seen so. Says of each lease and each\n"
		"foreign device what was done and why, or why it stays. Fails where something could not go that should have.\n",
	.run = run,
};
