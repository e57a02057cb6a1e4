/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* vgpu-lease gc: releases what no domain needs any more, and removes orphans. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/ident.h"
#include "base/mem.h"
#include "cli/cards.h"
#include "cli/domains.h"
#include "cli/table.h"
#include "ops/gc.h"
#include "state/history.h"

const char *cmd_gc_outcome(const struct gc_item *item)
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

const char *cmd_gc_advice(char buf[REASON_SIZE], const struct gc_item *item)
{
	if (item->outcome == GC_GOES)
		return "run 'vgpu-lease gc'";
	if (!item->due_ms)
		return item->why;
	snprintf(buf, REASON_SIZE, "'vgpu-lease gc' releases it in %d s", sys_left_ms(item->due_ms) / 1000 + 1);
	return buf;
}

static const struct table_layout layout = {
	.columns = { COL_OUTCOME, COL_ID, COL_TYPE, COL_PARENT, COL_STATE, COL_DOMAIN, COL_REASON },
	.more = { COL_PGPU, COL_FRAMEWORK },
	.narrow = { COL_PARENT, COL_STATE, COL_TYPE },
};

void cmd_gc_print(const struct cmd *cmd, const struct gc *pass)
{
	struct rows rows;

	cmd_rows_begin(&rows, cmd, &layout);
	json_out_array(rows.json, "items");
	for (const struct gc_item *item = pass->items; item < pass->items + pass->n; item++) {
		autofree char *reason = mem_format("%s; but: %s", item->why, item->trouble);

		row_begin(&rows);
		row_vgpu(&rows, &item->vgpu);
		row_lease(&rows, item->leased ? &item->lease : NULL);
		table_coloured(&rows.table, COL_OUTCOME, cmd_gc_outcome(item),
			       item->outcome == GC_FAILED ? TERM_RED : "");
		json_out_string(rows.json, "outcome", cmd_gc_outcome(item));
		table_text(&rows.table, COL_REASON, *item->trouble ? reason : item->why);
		json_out_string(rows.json, "reason", item->why);
		json_out_text(rows.json, "error", item->trouble);
		row_end(&rows);
	}
	json_out_close(rows.json);
	cmd_rows_end(&rows);
}

int cmd_gc_announce(const struct gc *pass, struct err *err)
{
	struct gc dry = *pass;

	dry.dry = true;
	if (gc_run(&dry, err) < 0)
		return -err->code;
	for (size_t i = 0; i < dry.n; i++) {
		const struct gc_item *item = &dry.items[i];

		if (item->outcome == GC_GOES && !item->leased && !affinity_is_for_guest(pass->store, item->vgpu.id))
			out_warn("%s: %s (%s) is not an orphan, and is removed now: %s", item->vgpu.parent,
				 item->vgpu.id, item->vgpu.type, item->why);
	}
	gc_free(&dry);
	return 0;
}

static int run(struct cmd *cmd, struct err *err)
{
	struct gc pass = cmd_gc_pass(cmd);
	char garbage[GC_GARBAGE_SIZE];
	autoleases struct leases leases = { 0 };
	int failed = 0;

	cmd_take_grace(cmd);
	pass.type = cmd->call->type;
	pass.dry = cmd->call->dry_run;
	if (cmd->call->pgpu && (lease_list(&cmd->store, &leases, err) < 0 || cards_check_pgpu(cmd, &leases, err) < 0))
		return -err->code;
	pass.pgpu = cmd->call->pgpu;
	pass.domain = cmd->call->domain;
	pass.state = cmd->call->state;
	pass.unused = cmd->call->unused;
	if (domains_check(cmd, err) < 0 || cmd_check_type(cmd, err) < 0 ||
	    (pass.unused && !pass.dry && cmd_gc_announce(&pass, err) < 0) || gc_run(&pass, err) < 0)
		return -err->code;
	if (gc_say_garbage(&pass, garbage))
		out_warn("%s", garbage);
	if (*pass.unread)
		out_warn("%s", pass.unread);
	if (pass.undefined.code)
		out_warn("%s", pass.undefined.text);
	for (size_t i = 0; i < pass.n; i++)
		failed += pass.items[i].outcome == GC_FAILED;
	cmd_gc_print(cmd, &pass);
	gc_free(&pass);
	if (failed)
		return err_set(
			err, EBUSY,
			"%d of these not released: see their reasons; fix the cause and run 'vgpu-lease gc' again (troubleshooting: a-lease-stays-releasing)",
			failed);
	return CMD_DONE;
}

static int check_call(const struct cmd_call *call, struct err *err)
{
	return cmd_check_filters(call, err) < 0 ? -err->code : cmd_check_grace(call, err);
}

const struct command cmd_gc = {
	.name = "gc",
	.options = CMD_TABLE | CMD_DRY_RUN | CMD_DOMAIN | CMD_PGPU | CMD_TYPE | CMD_STATE | CMD_GRACE | CMD_UNUSED,
	.summary = "Release unused leases and remove orphans",
	.help = "Release leases that are pending, expired, or of domains that no longer run.\n"
		"Remove orphans: devices created for a guest that are not open, not leased, not\n"
		"named in the XML of a domain on this host, not started at boot by mdevctl, and\n"
		"idle for reclaim_grace. With nova_conf, Nova's orphans are removed even if\n"
		"mdevctl starts them at boot, and so are Nova's mdevctl definitions that have no\n"
		"device and no domain. Print the action or the reason for each. If a release\n"
		"fails, the exit status is 1.\n"
		"\n"
		"Devices and definitions that were not created for a guest, such as a pool that a\n"
		"deployment creates at boot, are kept. --unused removes them under the same\n"
		"conditions, and lists them first.\n"
		"\n"
		"--pgpu considers only this pGPU. --type skips orphans and definitions of other\n"
		"types, but no leases. --domain and --state consider only matching leases, and no\n"
		"orphans.\n",
	.table = &layout,
	.needs = CMD_WRITE | CMD_CONFIG_READ,
	.check = check_call,
	.run = run,
};
