/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* vgpu-lease gc: release unused leases and remove orphans. retype: make a gc pass over the vGPUs that block a type. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "cli/cmd.h"
#include "act/gc.h"
#include "decide/capacity.h"
#include "look/looked.h"

void cmd_gc_ask(struct cmd *cmd, struct gc *pass)
{
	struct err err;

	*pass = cmd_gc_pass(cmd);
	if (gc_judge(pass, &err) < 0)
		out_warn("cannot tell what 'vgpu-lease gc' would do: %s", err.text);
}

const char *cmd_gc_outcome(const struct gc_item *item)
{
	static const char *const words[][2] = { [GC_STAYS] = { "stays", "stays" },
						[GC_GOES] = { "drop", "remove" },
						[GC_GONE] = { "dropped", "removed" },
						[GC_FAILED] = { "failed", "failed" } };

	return words[item->outcome][item->removes];
}

const char *cmd_gc_advice(char buf[REASON_SIZE], const struct gc_item *item)
{
	if (item->outcome == GC_GOES)
		return "run 'vgpu-lease gc'";
	if (!item->fate.due_ms)
		return item->fate.why;
	snprintf(buf, REASON_SIZE, "'vgpu-lease gc' releases it in %d s", sys_left_ms(item->fate.due_ms) / 1000 + 1);
	return buf;
}

static const struct table_layout layout = {
	.columns = { COL_OUTCOME, COL_ID, COL_TYPE, COL_PARENT, COL_STATE, COL_DOMAIN, COL_REASON },
	.more = { COL_PGPU, COL_FRAMEWORK },
	.narrow = { COL_PARENT, COL_STATE, COL_TYPE },
};

static void print(struct cmd *cmd, const struct gc *pass)
{
	struct rows *rows = cmd_rows(cmd, &layout, "items");

	for (EACH(const struct gc_item *, item, pass->items, pass->n)) {
		autofree char *reason = mem_format("%s; but: %s", item->fate.why, item->trouble);

		row_begin(rows);
		row_vgpu(rows, &item->vgpu);
		row_lease(rows, item->leased ? &item->lease : NULL);
		table_coloured(&rows->table, COL_OUTCOME, cmd_gc_outcome(item),
			       item->outcome == GC_FAILED ? TERM_RED : "");
		json_out_string(rows->json, "outcome", cmd_gc_outcome(item));
		table_text(&rows->table, COL_REASON, *item->trouble ? reason : item->fate.why);
		json_out_string(rows->json, "reason", item->fate.why);
		json_out_string(rows->json, "error", item->trouble);
		row_end(rows);
	}
	cmd_rows_end(cmd);
}

/* Judges the leases and devices, and keeps only the items for which is_meant() is true. */
static int judge(struct cmd *cmd, struct gc *pass, bool unused,
		 bool (*is_meant)(const struct cmd *cmd, const struct gc_item *item), struct err *err)
{
	size_t n = 0;

	*pass = cmd_gc_pass(cmd);
	pass->dry = cmd->call->dry_run;
	pass->unused = unused;
	if (cmd->call->grace)
		cmd->config.policy.reclaim_grace_s = (int)cmd->call->grace_s;
	if (gc_judge(pass, err) < 0)
		return -err->code;
	for (size_t i = 0; i < pass->n; i++)
		if (is_meant(cmd, &pass->items[i]))
			pass->items[n++] = pass->items[i];
	pass->n = n;
	return 0;
}

/* Does the item match the filters? --type does not apply to leases. */
static bool is_asked_for(const struct cmd *cmd, const struct gc_item *item)
{
	struct cmd_call call = *cmd->call;

	if (item->leased)
		call.type = NULL;
	return cmd_matches(&call, &item->vgpu, item->leased ? &item->lease : NULL);
}

/* Warns of each vGPU that the pass will remove although the vGPU was not made for a guest. */
static void announce(const struct gc *pass)
{
	if (pass->dry)
		return;
	for (EACH(const struct gc_item *, item, pass->items, pass->n))
		if (item->outcome == GC_GOES && !item->leased &&
		    !affinity_is_for_guest(pass->world.store, item->vgpu.id))
			out_warn("%s: %s (%s) is not an orphan, and is removed now: %s", item->vgpu.parent,
				 item->vgpu.id, item->vgpu.type, item->fate.why);
}

static int gc(struct cmd *cmd, struct err *err)
{
	autogc struct gc pass = { 0 };
	int failed = 0;

	if (cmd_check_filters(cmd, err) < 0 || judge(cmd, &pass, cmd->call->unused, is_asked_for, err) < 0)
		return -err->code;
	if (pass.unused)
		announce(&pass);
	gc_finish(&pass);
	if (*pass.garbage)
		out_warn("%s", pass.garbage);
	if (*pass.unread)
		out_warn("%s", pass.unread);
	if (pass.undefined.code)
		out_warn("%s", pass.undefined.text);
	for (size_t i = 0; i < pass.n; i++)
		failed += pass.items[i].outcome == GC_FAILED;
	print(cmd, &pass);
	if (failed)
		return err_set(
			err, EBUSY,
			"%d of these not released: see their reasons; fix the cause and run 'vgpu-lease gc' again (troubleshooting: a-lease-stays-releasing)",
			failed);
	return CMD_DONE;
}

const struct command cmd_gc = {
	.name = "gc",
	.options = CMD_TABLE | CMD_DRY_RUN | CMD_DOMAIN | CMD_PGPU | CMD_TYPE | CMD_STATE | CMD_GRACE | CMD_UNUSED,
	.summary = "Release unused leases and remove orphans",
	.help = "Release leases that are pending, expired, or of domains that no longer run.\n"
		"Remove orphans: devices created for a guest that are not open, not leased, not\n"
		"named by a domain or started at boot by mdevctl, and idle for reclaim_grace.\n"
		"With nova_conf, Nova's orphans are removed even if mdevctl starts them at boot.\n"
		"Print the action or the reason for each. A failed release sets the status 1.\n"
		"\n"
		"--unused also removes devices that were not created for a guest, such as a pool\n"
		"created at boot, under the same conditions, and lists them first. --type does\n"
		"not apply to leases; --domain and --state consider only leases.\n",
	.table = &layout,
	.needs = CMD_WRITE | CMD_CONFIG_READ,
	.run = gc,
};

/* Does the vGPU block the new type? A vGPU on a VF that is configured for another type does not. */
static bool is_in_the_way(const struct cmd *cmd, const struct gc_item *item)
{
	const struct inv_parent *parent = inventory_parent(&cmd->world.inv, item->vgpu.parent);
	const char *type = cmd->call->type;

	return strcmp(cmd->call->pgpu, item->vgpu.pgpu) == 0 && strcmp(type, item->vgpu.type) != 0 &&
	       (!parent || pool_gives(parent, type));
}

/* Removes the vGPUs of other types as 'gc --unused' does, or none if one of them stays leased. -EBUSY: some remain. */
static int release_others(struct cmd *cmd, struct err *err)
{
	const char *pgpu = cmd->call->pgpu;
	autogc struct gc pass = { 0 };
	bool leased = false;
	int blocks = 0;

	if (judge(cmd, &pass, true, is_in_the_way, err) < 0)
		return -err->code;
	for (EACH(const struct gc_item *, item, pass.items, pass.n))
		leased |= item->leased && item->outcome == GC_STAYS;
	for (EACH(struct gc_item *, item, pass.items, pass.n))
		if (leased && item->outcome == GC_GOES) {
			item->outcome = GC_STAYS;
			text_copy(item->fate.why, sizeof(item->fate.why), "kept while a vGPU beside it is leased");
		}
	announce(&pass);
	out_progress(pass.dry, "removing vGPUs from %s", pgpu);
	gc_finish(&pass);
	out_progress_end();
	/* Ignore definitions without a device, which take no capacity. */
	for (EACH(const struct gc_item *, item, pass.items, pass.n))
		blocks += (item->leased || item->exists) && (item->outcome == GC_STAYS || item->outcome == GC_FAILED);
	if (pass.n)
		print(cmd, &pass);
	if (!blocks)
		return 0;
	return err_set(err, EBUSY, "%s: not free for %s: blocked by %d vGPU%s of another type; see the reasons above",
		       pgpu, cmd->call->type, blocks, blocks == 1 ? "" : "s");
}

static int retype(struct cmd *cmd, struct err *err)
{
	const bool dry = cmd->call->dry_run;
	const struct world *world = &cmd->world;
	const char *address = cmd->call->pgpu, *type = cmd->call->type;
	struct capacity_count count;
	const struct inv_pgpu *card;

	if (cmd_survey(cmd, err) < 0 || !(card = cards_pgpu(world, address, err)))
		return -err->code;
	/* A card can hide its other types while it is in use. */
	if (!inventory_offer(card, type) && !card->types_hid)
		return err_set(err, ENOENT, "%s does not provide %s; see 'vgpu-lease show %s'", address, type, address);
	/* On a card that is not configured for the type, the next start would create a vGPU of the old type again. */
	if (!pool_serves(card, type))
		return err_set(err, EPERM,
			       "%s is not configured for %s; enable the type, move the pGPU to [mdev_%s], and run this "
			       "command again",
			       address, type, type);
	if (*card->moved && !card->gpu)
		return err_set(
			err, EPERM,
			"%s is %s (%s) now, and was %s; correct device_addresses, or select it with device_match",
			card->moved, card->moved_is, inventory_class(&cmd->host, card->moved), card->moved_was);
	if (*card->moved)
		out_say("%s: the address is %s now, and was %s", card->moved, card->moved_is, card->moved_was);
	if (*card->moved && !dry && card_confirm(&cmd->store, card->moved, err) < 0)
		return -err->code;
	if (release_others(cmd, err) < 0)
		return -err->code;
	if (dry) {
		out_say("%s: no vGPU of another type would block %s", address, type);
		return CMD_DONE;
	}
	survey_end(&cmd->world);
	if (cmd_survey(cmd, err) < 0)
		return -err->code;
	card = inventory_pgpu(&world->inv, address);
	if (card && !inventory_offer(card, type))
		return err_set(err, ENOENT, "%s does not provide %s; see 'vgpu-lease show %s'", address, type, address);
	if (card && capacity_count(&count, world, card, inventory_offer(card, type)))
		out_say("%s: no vGPU of another type blocks %s; available: %d, in use: %d", address, type,
			count.available, count.used);
	return CMD_DONE;
}

const struct command cmd_retype = {
	.name = "retype",
	.operands = { "PGPU", "TYPE" },
	.options = CMD_DRY_RUN | CMD_GRACE,
	.summary = "Remove the vGPUs that block another type",
	.help = "Configure the pGPU for TYPE first. Then release or remove its vGPUs of other\n"
		"types under the conditions of gc --unused; none if a running domain leases one.\n"
		"\n"
		"If another GPU now has an address of [vf_NAME], retype ADDRESS NAME accepts it.\n",
	.needs = CMD_WRITE | CMD_CONFIG_MUST,
	.run = retype,
};
