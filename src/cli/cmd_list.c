/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* vgpu-lease list: lists the leases, and what is wrong with them. */
#include <stdio.h>

#include "act/gc.h"
#include "base/mem.h"
#include "cli/status.h"

enum { NOTE_SIZE = REASON_SIZE + 64 };

/*
 * The NOTE of a lease: what is wrong with it, or when it will be released; NULL: no note. The gc pass ran after the
 * leases were read, so `item` may be NULL, or no longer `leased`.
 */
static const char *note_of(const struct gc_item *item, char buf[NOTE_SIZE])
{
	bool active = item && item->leased && item->lease.state == LEASE_ACTIVE;
	char advice[REASON_SIZE];

	if (!item || !item->leased ||
	    (active && item->exists == PRESENT && item->outcome == GC_STAYS && !item->fate.due_ms))
		return NULL;
	if (item->outcome != GC_GOES && !item->fate.due_ms)
		return active && !item->exists ? "its device is gone" : item->fate.why;
	snprintf(buf, NOTE_SIZE, "%s; %s", item->outcome == GC_GOES ? item->fate.why : "its domain is not running",
		 cmd_gc_advice(advice, item));
	return buf;
}

static const struct table_layout leases_layout = {
	.columns = { COL_ID, COL_TYPE, COL_PARENT, COL_STATE, COL_ORIGIN, COL_AGE, COL_DOMAIN, COL_INSTANCE, COL_NOTE },
	.more = { COL_PGPU, COL_NUMA, COL_MIB, COL_FRAMEWORK, COL_PROJECT, COL_SINCE },
	.narrow = { COL_ORIGIN, COL_PARENT, COL_AGE, COL_INSTANCE },
};

static void print_leases(struct cmd *cmd, const struct leases *leases, const struct gc *verdicts)
{
	struct rows *rows = cmd_rows(cmd, &leases_layout, "leases");

	for (EACH(const struct lease *, l, leases->list, leases->n)) {
		char note[NOTE_SIZE];

		if (!cmd_matches(cmd->call, &l->vgpu, l))
			continue;
		row_begin(rows);
		row_vgpu(rows, &l->vgpu);
		json_out_string(rows->json, "uuid", l->vgpu.framework == FW_MDEV ? l->vgpu.id : NULL);
		row_whole_lease(rows, l, l->framebuffer_mib);
		row_text(rows, COL_NOTE, "note", note_of(gc_find(verdicts, l->vgpu.id), note));
		row_end(rows);
	}
	cmd_rows_end(cmd);
}

static int list(struct cmd *cmd, struct err *err)
{
	autogc struct gc verdicts = { 0 };
	autoleases struct leases leases = { 0 };

	if (lease_list(&cmd->store, &leases, err) < 0 || cmd_check_filters(cmd, err) < 0 ||
	    cards_check_pgpu(cmd, err) < 0)
		return -err->code;
	if (leases.garbage)
		out_warn("%d invalid file%s in /run/vgpu-lease/leases; run 'vgpu-lease gc' to set them aside",
			 leases.garbage, leases.garbage == 1 ? "" : "s");
	if (leases.n)
		cmd_gc_ask(cmd, &verdicts);
	print_leases(cmd, &leases, &verdicts);
	return CMD_DONE;
}

const struct command cmd_list = {
	.name = "list",
	.options = CMD_TABLE | CMD_DOMAIN | CMD_PGPU | CMD_TYPE | CMD_STATE,
	.summary = "List the leases: which domain has which vGPU",
	.help = "STATE is reserved (for an incoming migration or a restore), creating, active or\n"
		"releasing (until no process has the device open). ORIGIN is created (by the\n"
		"hook, which removes the device on release) or adopted (the device existed\n"
		"before, or belongs to mdevctl or Nova, and is kept). AGE is the time in this\n"
		"state. INSTANCE is the name in Nova; the column is omitted if no domain has one.\n"
		"NOTE shows problems. Further columns: PGPU, NUMA, MIB (framebuffer), FRAMEWORK,\n"
		"PROJECT, SINCE.\n",
	.table = &leases_layout,
	.run = list,
};
