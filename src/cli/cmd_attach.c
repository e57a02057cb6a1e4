/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* vgpu-lease attach, detach, suspend, resume: the vGPUs of a running domain. */
#include <errno.h>
#include <string.h>

#include "base/text.h"
#include "cli/cmd.h"

/* Is the type, an id or a class, enabled? cmd_open() has replaced a name by its id. */
static bool is_enabled(const struct config *config, const char *type)
{
	for (size_t i = 0; i < config->nsections; i++)
		if (strcmp(config->sections[i].type, type) == 0 || strcmp(config->sections[i].class, type) == 0)
			return true;
	return false;
}

/* Fails if the --type is not enabled, or if there is none and the pool does not have exactly one type. */
static int check_type(const struct cmd *cmd, struct err *err)
{
	char list[1024] = "";
	int types = 0;

	for (size_t i = 0; i < cmd->config.nsections; i++)
		text_add(list, sizeof(list), "%s%s", types++ ? ", " : "", cmd->config.sections[i].type);
	if (cmd->call->type ? is_enabled(&cmd->config, cmd->call->type) : types == 1)
		return 0;
	if (cmd->call->type && cmd_check_type(cmd, err) < 0)
		return -err->code;
	if (cmd->call->type)
		return err_set(err, ENOENT, "--type %s: not enabled; enabled: %s", cmd->call->type,
			       types ? list : "(none)");
	return err_set(err, EINVAL, "no type given: use --type with one of %s", types ? list : "(the pool has none)");
}

static int attach(struct cmd *cmd, struct err *err)
{
	struct lease lease = { 0 };
	int r;

	if (check_type(cmd, err) < 0)
		return -err->code;
	int progress = out_progress(cmd->call->dry_run, "attaching a vGPU to domain %s", cmd->hp.domain.name);
	r = hotplug_attach(&cmd->hp, cmd->call->type, cmd->call->persistent, &lease, err);
	out_progress_end(progress);
	if (r < 0)
		return r;
	if (cmd->call->dry_run)
		text_line(cmd_lines(cmd), "attach it to domain %s%s", cmd->hp.domain.name,
			  cmd->call->persistent ? ", and add it to its definition" : "");
	else
		out_say("attached %s, %s on %s, to domain %s", lease.vgpu.id, lease.vgpu.type, lease.vgpu.parent,
			cmd->hp.domain.name);
	return CMD_DONE;
}

static int detach(struct cmd *cmd, struct err *err)
{
	char id[ID_SIZE];
	int r;

	id_parse(id, cmd->call->args.operands[1]);
	int progress = out_progress(cmd->call->dry_run, "detaching %s from domain %s", id, cmd->hp.domain.name);
	r = hotplug_detach(&cmd->hp, id, cmd->call->persistent, err);
	out_progress_end(progress);
	if (r < 0)
		return r;
	if (!cmd->call->dry_run)
		out_say("detached %s from domain %s", id, cmd->hp.domain.name);
	return CMD_DONE;
}

static int suspend(struct cmd *cmd, struct err *err)
{
	int progress = out_progress(false, "suspending domain %s", cmd->hp.domain.name);
	size_t n;
	int r = hotplug_suspend(&cmd->hp, &n, err);

	out_progress_end(progress);
	if (r < 0)
		return r;
	out_say("suspended domain %s: %zu vGPU%s released", cmd->hp.domain.name, n, n == 1 ? "" : "s");
	return CMD_DONE;
}

static int resume(struct cmd *cmd, struct err *err)
{
	int progress = out_progress(false, "resuming domain %s", cmd->hp.domain.name);
	size_t n;
	int r = hotplug_resume(&cmd->hp, &n, err);

	out_progress_end(progress);
	if (r < 0)
		return r;
	out_say("resumed domain %s: %zu vGPU%s attached", cmd->hp.domain.name, n, n == 1 ? "" : "s");
	return CMD_DONE;
}

const struct command cmd_attach = {
	.name = "attach",
	.operand = "DOMAIN",
	.options = CMD_DRY_RUN | CMD_TYPE | CMD_PERSISTENT | CMD_CONNECT,
	.summary = "Lease another vGPU and attach it to a running domain",
	.help = "Pool, quota and placement apply as for a start; without available capacity the\n"
		"command is refused. --type is an ID, a name or a class, and is optional if the\n"
		"pool has only one type. --persistent also adds the vGPU to the domain's\n"
		"definition. A failed attach is undone.\n",
	.needs = CMD_WRITE | CMD_LIBVIRT | CMD_CONFIG_MUST,
	.run = attach,
};

const struct command cmd_detach = {
	.name = "detach",
	.operand = "DOMAIN",
	.second = "ID",
	.options = CMD_DRY_RUN | CMD_PERSISTENT | CMD_CONNECT,
	.summary = "Detach a vGPU from a running domain and release it",
	.help = "Wait up to release_timeout until QEMU reports that the guest has released the\n"
		"device. If it does not, the lease is kept, and the device handler or another\n"
		"detach releases the vGPU later. --persistent also removes the vGPU from the\n"
		"domain's definition.\n",
	.needs = CMD_WRITE | CMD_LIBVIRT,
	.run = detach,
};

const struct command cmd_suspend = {
	.name = "suspend",
	.operand = "DOMAIN",
	.options = CMD_CONNECT,
	.summary = "Save a domain (managed save) without its vGPUs",
	.help = "This is a managed save, for guests that cannot be saved with a vGPU; 'virsh\n"
		"suspend' only pauses a guest. Detach and release the vGPUs, then save the domain\n"
		"with a list of them. If the guest does not release a vGPU, or the save fails,\n"
		"attach the vGPUs again.\n",
	.needs = CMD_WRITE | CMD_LIBVIRT | CMD_CONFIG_MUST,
	.run = suspend,
};

const struct command cmd_resume = {
	.name = "resume",
	.operand = "DOMAIN",
	.options = CMD_CONNECT,
	.summary = "Restore a domain that 'suspend' saved, with its vGPUs",
	.help = "This restores a managed save; 'virsh resume' only continues a paused guest.\n"
		"Lease vGPUs with the same types and UUIDs, restore the domain, and attach the\n"
		"vGPUs at their previous addresses in the guest. If there is not enough capacity\n"
		"for all of them, the domain remains saved. If the domain was started some other\n"
		"way, attach the missing vGPUs.\n",
	.needs = CMD_WRITE | CMD_LIBVIRT | CMD_CONFIG_MUST,
	.run = resume,
};
