/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* vgpu-lease retype PGPU TYPE: frees a card from what keeps it from serving another type. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/text.h"
#include "cli/cards.h"
#include "ops/gc.h"
#include "host/libvirt_files.h"
#include "host/mdevctl_files.h"
#include "plan/capacity.h"

static int check_offer(const struct inv_pgpu *card, const char *type, struct err *err)
{
	char list[1024] = "";

	/* What it makes may come to light when it is empty: till then what the configuration says counts. */
	if (inventory_offer(card, type) || card->types_hid)
		return 0;
	for (size_t i = 0; i < card->noffers; i++)
		text_add(list, sizeof(list), "%s%s", i ? ", " : "", card->offers[i].type->id);
	return err_set(err, ENOENT, "%s does not provide %s; its types: %s", card->address, type,
		       *list ? list : "(none)");
}

/* The hook would fill a card anew with what the configuration gives to it: that is changed first, and by a person. */
static int check_config(const struct world *world, const struct inv_pgpu *card, const char *type, struct err *err)
{
	const char *address = card->address;
	const struct section *now = card->pool.section, *then = config_section(world->config, type);
	const struct section *section = now ? now : then;
	struct place at;

	if (pool_serves(&world->inv, card, type))
		return 0;
	if (!then)
		return err_set(err, EPERM,
			       "%s is not enabled; add it to enabled_mdev_types and to a section [mdev_%s] with "
			       "device_addresses = %s, then run this command again",
			       type, type, address);
	at = config_section_place(section);
	if (now)
		return err_set(err, EPERM,
			       "%s:%d: %s is configured for %s; move it to [mdev_%s], then run this command again",
			       at.file, at.line, address, now->type, type);
	return err_set(err, EPERM,
		       "%s:%d: %s is not configured for %s (%s); add it to [mdev_%s], then run this command again",
		       at.file, at.line, address, type, card->pool.reason, type);
}

/* A leased vGPU of another type keeps the card as it is; else what may go, goes. */
static int release_others(struct cmd *cmd, const struct inventory *inv, const char *pgpu, const char *type,
			  struct err *err)
{
	struct gc pass = cmd_gc_pass(cmd);
	int blocks = 0;

	pass.pgpu = pgpu;
	pass.kept_type = type;
	pass.inv = inv;
	pass.unless_leased = true;
	pass.unused = true;
	pass.dry = cmd->call->dry_run;
	int r = pass.dry ? 0 : cmd_gc_announce(&pass, err);
	int progress = out_progress(pass.dry || r < 0, "removing vGPUs from %s", pgpu);
	if (r == 0)
		r = gc_run(&pass, err);
	out_progress_end(progress);
	if (r < 0)
		return r;
	/* A definition without a device takes no capacity. */
	for (size_t i = 0; i < pass.n; i++)
		blocks += (pass.items[i].leased || pass.items[i].exists) &&
			  (pass.items[i].outcome == GC_STAYS || pass.items[i].outcome == GC_FAILED);
	if (pass.n)
		cmd_gc_print(cmd, &pass);
	gc_free(&pass);
	if (!blocks)
		return 0;
	return err_set(err, EBUSY,
		       "%s: not free for %s, because %d vGPU%s of another type block it; see the reasons above", pgpu,
		       type, blocks, blocks == 1 ? "" : "s");
}

/*
 * Definitions with which mdevctl makes vGPUs of another type on the card at the next boot. Those of leased vGPUs and
 * those that a domain's XML names are in use, and those of Nova's devices go with their device, or stay for a reason
 * that is told with it.
 */
static int name_definitions(const struct world *world, const struct inv_pgpu *card, const char *type, struct err *err)
{
	autofree struct definition *list = NULL;
	struct libvirt_files *disk;
	size_t n;

	if (mdevctl_definitions(&list, &n, world->host, err) < 0 || libvirt_files_read(&disk, world->host, err) < 0)
		return -err->code;
	for (size_t i = 0; i < n && !libvirt_files_unread(disk, false); i++) {
		const struct inv_parent *parent = inventory_parent(&world->inv, list[i].parent);

		if (!parent || parent->card != card || !list[i].starts || strcmp(list[i].type, type) == 0 ||
		    !pool_gives(&world->inv, parent, type) || libvirt_files_names(disk, list[i].uuid, NULL) ||
		    lease_find(&world->leases, list[i].uuid) ||
		    (world->config->policy.nova && inventory_device(&world->inv, list[i].uuid)))
			continue;
		out_warn(
			"/etc/mdevctl.d/%s/%s creates a %s at the next boot; if it is not needed, run 'mdevctl undefine -u %s'",
			list[i].parent, list[i].uuid, list[i].type, list[i].uuid);
	}
	libvirt_files_free(disk);
	return 0;
}

/* With the kernel's count as it is now. */
static int say_free(struct world *world, const char *address, const char *type, struct err *err)
{
	struct capacity_count count = { 0 };
	const struct inv_offer *offer;
	const struct inv_pgpu *card;

	if (survey_see(world, err) < 0)
		return -err->code;
	card = inventory_pgpu(&world->inv, address);
	if (!card)
		return 0;
	if (check_offer(card, type, err) < 0)
		return -err->code;
	offer = inventory_offer(card, type);
	if (offer)
		capacity_count(&count, world, card, offer);
	out_say("%s is free for %s: %d available, %d in use", address, type, count.available, count.used);
	return 0;
}

/* Another device has the address by now: whoever has it serve the type says that it is meant. */
static int accept_moved(struct cmd *cmd, const struct inv_pgpu *card, struct err *err)
{
	if (!*card->moved)
		return 0;
	out_say("%s: the address is %s now, and was %s", card->moved, card->moved_is, card->moved_was);
	return cmd->call->dry_run ? 0 : card_confirm(&cmd->store, card->moved, err);
}

static int run(struct cmd *cmd, struct err *err)
{
	autosurvey struct world world = { 0 };
	char type[TYPE_SIZE], address[PARENT_SIZE];
	const struct inv_pgpu *card;

	text_copy(type, sizeof(type), cmd->call->type);
	if (cmd_survey(cmd, &world, err) < 0)
		return -err->code;
	card = cards_pgpu(&world, cmd->call->pgpu, err);
	if (!card)
		return -err->code;
	/* The world is read anew in the end. */
	memcpy(address, card->address, sizeof(address));
	cmd_take_grace(cmd);
	if (check_offer(card, type, err) < 0 || check_config(&world, card, type, err) < 0 ||
	    name_definitions(&world, card, type, err) < 0 || accept_moved(cmd, card, err) < 0 ||
	    release_others(cmd, &world.inv, address, type, err) < 0)
		return -err->code;
	if (!cmd->call->dry_run)
		return say_free(&world, address, type, err);
	out_say("%s would be free for %s", address, type);
	return 0;
}

const struct command cmd_retype = {
	.name = "retype",
	.operand = "PGPU",
	.second = "TYPE",
	.options = CMD_DRY_RUN | CMD_GRACE,
	.summary = "Remove the vGPUs that block another type",
	.help = "Configure the pGPU for TYPE first; otherwise the error shows what to edit. vGPUs\n"
		"of other types are then released or removed under the conditions of gc --unused,\n"
		"and the action or the reason is printed for each. If a running domain leases one\n"
		"of them, nothing is removed. mdevctl definitions that would create such a vGPU\n"
		"at the next boot are reported.\n"
		"\n"
		"If another device now has an address of [vf_NAME], retype ADDRESS NAME accepts\n"
		"this device.\n",
	.needs = CMD_WRITE | CMD_CONFIG_MUST,
	.check = cmd_check_grace,
	.run = run,
};
