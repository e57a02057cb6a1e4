/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* vgpu-lease list: list leases and their problems. types: list the vGPU types that the pGPUs provide. */
#include <stdio.h>
#include <string.h>

#include "act/gc.h"
#include "base/mem.h"
#include "cli/cmd.h"

enum { NOTE_SIZE = REASON_SIZE + 64 };

/* Returns the lease's problem, or when it will end; NULL: neither. It may have ended since the list was read. */
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

	if (lease_list(&cmd->store, &leases, err) < 0 || cmd_check_filters(cmd, err) < 0)
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
	.help = "STATE is reserved (for a migration or a restore), creating, active or releasing.\n"
		"ORIGIN is created (the hook removes the device on release) or adopted (it keeps\n"
		"the device). AGE is the time in this state. NOTE shows problems. Further\n"
		"columns: PGPU, NUMA, MIB (framebuffer), FRAMEWORK, PROJECT, SINCE.\n",
	.table = &leases_layout,
	.run = list,
};

static bool in_pool(const struct inv_pgpu *card, const char *type)
{
	return card->pool.in_pool && pool_serves(card, type);
}

/* Does the type match the filters, and, without --pgpu, is pGPU number `pgpu` the first that offers it? */
static bool is_shown(const struct cmd_call *call, const struct inventory *inv, size_t pgpu, const char *type)
{
	if (call->pgpu && strcmp(call->pgpu, inv->pgpus[pgpu]->address) != 0)
		return false;
	for (size_t g = 0; !call->pgpu && g < pgpu; g++)
		if (inventory_offer(inv->pgpus[g], type))
			return false;
	return !call->type || strcmp(call->type, type) == 0;
}

static const struct table_layout types_layout = {
	.columns = { COL_TYPE, COL_NAME, COL_CLASS, COL_MIB, COL_HEADS, COL_RESOLUTION, COL_CAPACITY, COL_USED,
		     COL_AVAILABLE, COL_HOST, COL_PGPUS },
	.more = { COL_FRAMEWORK },
	.narrow = { COL_RESOLUTION, COL_HEADS, COL_CLASS, COL_PGPUS, COL_HOST, COL_MIB, COL_NAME },
};

static void add_count(struct capacity_count *sum, const struct capacity_count *count)
{
	sum->capacity += count->capacity;
	sum->used += count->used;
	sum->available += count->available;
}

/* Prints a type, and the cards that offer the type. A star marks cards that are configured for the type. */
static void print_type(struct rows *rows, const struct world *world, const struct inv_type *type,
		       enum framework framework)
{
	struct capacity_count pool = { 0 }, host = { 0 }, count;
	struct rows pgpus = { .json = rows->json };
	autofree char *list = NULL;
	const char *comma = "";
	size_t size;
	FILE *to = mem_open(&list, &size);

	for (size_t g = 0; g < world->inv.npgpus; g++) {
		const struct inv_pgpu *card = world->inv.pgpus[g];

		if (!capacity_count(&count, world, card, inventory_offer(card, type->id)))
			continue;
		fprintf(to, "%s%s%s", comma, card->address, in_pool(card, type->id) ? "*" : "");
		comma = ", ";
		add_count(&host, &count);
		if (in_pool(card, type->id))
			add_count(&pool, &count);
	}
	mem_close(to);
	row_begin(rows);
	row_type(rows, type, world->config);
	row_text(rows, COL_FRAMEWORK, "framework", framework_words[framework]);
	row_count(rows, &pool);
	table_number(&rows->table, COL_HOST, host.available);
	table_text(&rows->table, COL_PGPUS, list);
	json_out_object(rows->json, "host");
	row_count(&pgpus, &host);
	json_out_close(rows->json);
	json_out_array(rows->json, "pgpus");
	for (size_t g = 0; g < world->inv.npgpus; g++) {
		const struct inv_pgpu *card = world->inv.pgpus[g];

		if (!capacity_count(&count, world, card, inventory_offer(card, type->id)))
			continue;
		row_begin(&pgpus);
		json_out_string(pgpus.json, "address", card->address);
		json_out_bool(pgpus.json, "in_pool", in_pool(card, type->id));
		row_count(&pgpus, &count);
		row_end(&pgpus);
	}
	json_out_close(rows->json);
	row_end(rows);
}

static int types(struct cmd *cmd, struct err *err)
{
	const struct world *world = &cmd->world;
	const struct inventory *inv = &world->inv;
	struct rows *rows;
	size_t n = 0;

	if (cmd_survey(cmd, err) < 0 || cmd_check_filters(cmd, err) < 0 ||
	    (cmd->call->pgpu && !cards_pgpu(world, cmd->call->pgpu, err)))
		return -err->code;
	rows = cmd_rows(cmd, &types_layout, "types");
	for (size_t g = 0; g < inv->npgpus; g++)
		for (EACH(const struct inv_offer *, offer, inv->pgpus[g]->offers, inv->pgpus[g]->noffers)) {
			if (!is_shown(cmd->call, inv, g, offer->type->id))
				continue;
			print_type(rows, world, offer->type, inv->pgpus[g]->framework);
			n++;
		}
	cmd_rows_end(cmd);
	if (!n && !cmd->call->json && !cmd->call->pgpu && !cmd->call->type)
		out_warn("no pGPU is ready on this host; 'vgpu-lease inventory' shows why");
	return CMD_DONE;
}

const struct command cmd_types = {
	.name = "types",
	.options = CMD_TABLE | CMD_PGPU | CMD_TYPE,
	.summary = "List the vGPU types that the pGPUs provide",
	.help = "CAPACITY, USED and AVAILABLE count the pGPUs configured for the type, marked\n"
		"with *. HOST is the number available on all pGPUs of the host. The types of a\n"
		"pGPU share its capacity, so their numbers cannot be summed.\n",
	.table = &types_layout,
	.run = types,
};
