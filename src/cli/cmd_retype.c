/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* vgpu-lease retype PGPU TYPE: frees a card from what keeps it from serving another type. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "cli/cmd.h"
#include "ops/gc.h"
#include "base/log.h"
#include "host/libvirt_files.h"
#include "host/mdevctl_files.h"
#include "plan/capacity.h"

/* What the call names. */
struct target {
	char pgpu[PARENT_SIZE], type[TYPE_SIZE];
};

/* The card by its address, or as Nova names a virtual one. */
static int find_card(const struct survey *survey, const struct host *host, const char *name, struct err *err)
{
	char reason[REASON_SIZE], parent[PARENT_SIZE];

	for (size_t i = 0; i < survey->inv.npgpus; i++)
		if (pool_address_is(name, survey->inv.pgpus[i].address))
			return (int)i;
	parent_parse(parent, name);
	inventory_explain_card(host, parent, false, reason);
	return err_set(err, ENOENT, "%s: %s", name, reason);
}

static int check_offer(const struct survey *survey, int pgpu, const char *type, struct err *err)
{
	const struct inv_pgpu *card = &survey->inv.pgpus[pgpu];
	char list[1024] = "";

	/* What it makes may come to light when it is empty: till then what the configuration says counts. */
	if (inventory_offer(&survey->inv, pgpu, type) || card->types_hid)
		return 0;
	for (size_t i = 0; i < card->noffers; i++) {
		size_t n = strlen(list);

		snprintf(list + n, sizeof(list) - n, "%s%s", n ? ", " : "", survey->inv.types[card->offers[i].type].id);
	}
	return err_set(err, ENOENT, "%s makes no %s; its types: %s", card->address, type,
		       *list ? list : "(none that can be changed)");
}

/* "FILE, line N: " where a section stands. */
static void where_is(char *buf, size_t size, const struct section *section)
{
	if (section->line)
		snprintf(buf, size, "%s, line %d: ", section->file, section->line);
	else
		snprintf(buf, size, "%s: ", section->file);
}

/* The hook would fill a card anew with what the configuration gives to it: that is changed first, and by a person. */
static int check_config(const struct cmd *cmd, const struct survey *survey, int pgpu, const char *type, struct err *err)
{
	const char *address = survey->inv.pgpus[pgpu].address;
	const struct section *now = survey->pool.cards[pgpu].section, *then = config_section(&cmd->config, type);
	char where[512] = "";

	if (pool_serves(&survey->pool, pgpu, type))
		return 0;
	if (!then)
		return err_set(
			err, EPERM,
			"the configuration does not enable %s: add it to enabled_mdev_types, with a section [mdev_%s] "
			"that has device_addresses = %s; then call this again",
			type, type, address);
	where_is(where, sizeof(where), now ? now : then);
	if (now)
		return err_set(
			err, EPERM,
			"%sthe configuration has %s serve %s: put it under [mdev_%s] instead, then call this again",
			where, address, now->type, type);
	return err_set(
		err, EPERM,
		"%sthe configuration does not have %s serve %s (%s): put it under [mdev_%s], then call this again",
		where, address, type, survey->pool.cards[pgpu].reason, type);
}

static bool in_the_way(const struct gc_item *item, const struct target *target)
{
	return strcmp(item->vgpu.type, target->type) != 0 && (item->outcome == GC_STAYS || item->outcome == GC_FAILED);
}

/* Prints what is done about each vGPU of another type; how many stand in the way. */
static int report(const struct gc *pass, const struct target *target, bool leased_only)
{
	int blocks = 0;

	for (size_t i = 0; i < pass->n; i++) {
		const struct gc_item *item = &pass->items[i];
		bool stays = in_the_way(item, target);

		if (strcmp(item->vgpu.type, target->type) == 0 || (leased_only && !(item->leased && stays)))
			continue;
		blocks += stays;
		if (item->leased)
			cmd_say("%s %s, %s, leased to domain %s: %s%s%s",
				stays ? "stays" : (pass->dry ? "would go" : "gone"), item->vgpu.id, item->vgpu.type,
				item->lease.name, item->why, *item->trouble ? "; but: " : "", item->trouble);
		else
			cmd_say("%s %s, %s: %s%s%s", stays ? "stays" : (pass->dry ? "would go" : "gone"), item->vgpu.id,
				item->vgpu.type, item->why, *item->trouble ? "; but: " : "", item->trouble);
	}
	return blocks;
}

static bool is_leased(const struct gc *pass, const struct target *target)
{
	for (size_t i = 0; i < pass->n; i++)
		if (pass->items[i].leased && in_the_way(&pass->items[i], target))
			return true;
	return false;
}

/* Who holds a vGPU of another type keeps the card as it is; else what may go, goes. */
static int drain(struct cmd *cmd, const struct target *target, struct err *err)
{
	struct gc pass = { .store = &cmd->store,
			   .config = &cmd->config,
			   .policy = &cmd->config.policy,
			   .pgpu = target->pgpu,
			   .kept_type = target->type,
			   .dry = true };
	bool leased;
	int blocks, r = gc_run(&pass, err);

	if (r < 0)
		return r;
	leased = is_leased(&pass, target);
	if (!leased && !cmd->call->dry_run) {
		gc_free(&pass);
		pass.dry = false;
		r = gc_run(&pass, err);
	}
	blocks = r == 0 ? report(&pass, target, leased && !cmd->call->dry_run) : 0;
	gc_free(&pass);
	if (r < 0 || !blocks)
		return r;
	return err_set(err, EBUSY, "%s is not free for %s: %d vGPU%s of another type %s in the way", target->pgpu,
		       target->type, blocks, blocks == 1 ? "" : "s", blocks == 1 ? "stands" : "stand");
}

/* Definitions with which mdevctl makes vGPUs of another type on the card at the next boot. */
static int name_definitions(const struct cmd *cmd, const struct survey *survey, int pgpu, const struct target *target,
			    struct err *err)
{
	autofree struct definition *list = NULL;
	size_t n;
	int r = mdevctl_definitions(&list, &n, &cmd->host, err);

	for (size_t i = 0; r == 0 && i < n; i++) {
		int parent = inventory_parent(&survey->inv, list[i].parent);

		if (parent == UNKNOWN || survey->inv.parents[parent].pgpu != pgpu || !list[i].starts ||
		    strcmp(list[i].type, target->type) == 0)
			continue;
		cmd_warn(
			"/etc/mdevctl.d/%s/%s brings a %s back at the next boot: 'mdevctl undefine -u %s' if nobody needs it",
			list[i].parent, list[i].uuid, list[i].type, list[i].uuid);
	}
	return r;
}

static void say_free(const struct survey *survey, int pgpu, const struct target *target, bool dry)
{
	const struct inv_offer *offer = inventory_offer(&survey->inv, pgpu, target->type);
	const struct plan_facts facts = survey_facts(survey);
	struct capacity_count count = { 0 };

	if (offer)
		capacity_count(&count, &facts, pgpu, offer);
	if (dry)
		cmd_say("%s would be free for %s", target->pgpu, target->type);
	else
		cmd_say("%s is free for %s: %d can be made now, %d exist", target->pgpu, target->type, count.available,
			count.used);
}

static int retype(struct cmd *cmd, struct survey *survey, struct err *err)
{
	const char *const *operands = (const char *const *)cmd->call->operands;
	struct target target;
	int pgpu, r = cmd_survey(cmd, survey, err);

	if (r < 0)
		return r;
	type_parse(target.type, operands[1]);
	pgpu = find_card(survey, &cmd->host, operands[0], err);
	if (pgpu < 0)
		return pgpu;
	memcpy(target.pgpu, survey->inv.pgpus[pgpu].address, sizeof(target.pgpu));
	r = check_offer(survey, pgpu, target.type, err);
	if (r == 0)
		r = check_config(cmd, survey, pgpu, target.type, err);
	if (r == 0)
		r = name_definitions(cmd, survey, pgpu, &target, err);
	if (r == 0)
		r = drain(cmd, &target, err);
	if (r < 0)
		return r;
	/* The kernel's count as it is now. */
	r = survey_read(survey, err);
	if (r == 0)
		r = survey_leases(survey, err);
	pgpu = r == 0 ? inventory_pgpu(&survey->inv, target.pgpu) : UNKNOWN;
	if (pgpu != UNKNOWN)
		r = check_offer(survey, pgpu, target.type, err);
	if (pgpu != UNKNOWN && r == 0)
		say_free(survey, pgpu, &target, cmd->call->dry_run);
	return r;
}

static int run(const struct cmd_call *call, struct err *err)
{
	char pgpu[PARENT_SIZE], type[TYPE_SIZE];
	struct survey survey = { 0 };
	struct cmd cmd;
	int r = 0;

	if (!parent_parse(pgpu, call->operands[0]))
		r = err_set(err, EINVAL, "%s: that is no pGPU's address", call->operands[0]);
	else if (!type_parse(type, call->operands[1]))
		r = err_set(err, EINVAL, "%s: that is no type's id", call->operands[1]);
	if (r < 0)
		return CMD_USAGE;
	if (!call->root && !call->dry_run)
		log_open("vgpu-lease");
	r = cmd_open(&cmd, call, CMD_CONFIG_MUST, !call->dry_run, err);
	if (r == 0 && !cmd.has_config)
		r = err_set(err, ENOENT, "%s", cmd.why_no_config);
	if (r == 0)
		r = retype(&cmd, &survey, err);
	survey_end(&survey);
	cmd_close(&cmd);
	return r;
}

const struct command cmd_retype = {
	.name = "retype",
	.operand = "PGPU",
	.second = "TYPE",
	.options = CMD_DRY_RUN,
	.summary = "frees a pGPU from what keeps it from serving a type",
	.help = "For a card whose type was changed in the configuration: that goes first, and if it has not, says what to edit.\n"
		"Orphans of other types are removed on gc's conditions. What stays is named with its reason; while a vGPU of\n"
		"another type is leased, nothing is removed. Definitions of mdevctl that would bring such a vGPU back are named.\n",
	.run = run,
};
