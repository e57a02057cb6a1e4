/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* vgpu-lease attach, detach, suspend and resume: change the vGPUs of a running domain. release: release one vGPU. */
#include <errno.h>
#include <string.h>

#include "base/ident.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/cmd.h"
#include "act/release.h"
#include "look/inventory.h"
#include "look/libvirt_files.h"
#include "look/vfio_users.h"
#include "model/event.h"
#include "act/preview.h"
#include "state/store.h"

/* Without --type, the pool must have just one type. */
static int check_type(struct cmd *cmd, struct err *err)
{
	const char *type = cmd->call->type; /* an ID or a class */
	bool enabled = !type && cmd->config.nsections == 1;
	char list[1024] = "";

	for (EACH(const struct section *, section, cmd->config.sections, cmd->config.nsections)) {
		text_add(list, sizeof(list), "%s%s", *list ? ", " : "", section->type);
		enabled |= type && (strcmp(section->type, type) == 0 || strcmp(section->class, type) == 0);
	}
	if (enabled)
		return 0;
	if (!type)
		return err_set(err, EINVAL, "no type given: use --type with one of %s",
			       *list ? list : "(the pool has none)");
	if (cmd_check_filters(cmd, err) < 0)
		return -err->code;
	return err_set(err, ENOENT, "--type %s: not enabled; enabled: %s", type, *list ? list : "(none)");
}

static int attach(struct cmd *cmd, struct err *err)
{
	struct lease lease = { 0 };
	int r;

	if (check_type(cmd, err) < 0)
		return -err->code;
	out_progress(cmd->call->dry_run, "attaching a vGPU to domain %s", cmd->hp.domain.name);
	r = hotplug_attach(&cmd->hp, cmd->call->type, cmd->call->persistent, &lease, err);
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
	out_progress(cmd->call->dry_run, "detaching %s from domain %s", id, cmd->hp.domain.name);
	r = hotplug_detach(&cmd->hp, id, cmd->call->persistent, err);
	if (r < 0)
		return r;
	if (!cmd->call->dry_run)
		out_say("detached %s from domain %s", id, cmd->hp.domain.name);
	return CMD_DONE;
}

static int suspend_or_resume(struct cmd *cmd, struct err *err)
{
	const bool suspends = cmd->command == &cmd_suspend;
	const char *name = cmd->hp.domain.name;
	out_progress(false, "%s domain %s", suspends ? "suspending" : "resuming", name);
	size_t n;
	int r = suspends ? hotplug_suspend(&cmd->hp, &n, err) : hotplug_resume(&cmd->hp, &n, err);

	if (r < 0)
		return r;
	out_say("%s domain %s: %zu vGPU%s %s", suspends ? "suspended" : "resumed", name, n, n == 1 ? "" : "s",
		suspends ? "released" : "attached");
	return CMD_DONE;
}

const struct command cmd_attach = {
	.name = "attach",
	.operands = { "DOMAIN" },
	.options = CMD_DRY_RUN | CMD_TYPE | CMD_PERSISTENT | CMD_CONNECT,
	.summary = "Lease another vGPU and attach it to a running domain",
	.help = "--type is an ID, a name or a class, and is optional if the pool has only one\n"
		"type. Pool, quota and placement apply as for a start.\n",
	.needs = CMD_WRITE | CMD_LIBVIRT | CMD_CONFIG_MUST,
	.run = attach,
};

const struct command cmd_detach = {
	.name = "detach",
	.operands = { "DOMAIN", "ID" },
	.options = CMD_DRY_RUN | CMD_PERSISTENT | CMD_CONNECT,
	.summary = "Detach a vGPU from a running domain and release it",
	.help = "If the guest does not release the device within release_timeout, the lease is\n"
		"kept, and the device handler or another detach releases the vGPU later.\n",
	.needs = CMD_WRITE | CMD_LIBVIRT,
	.run = detach,
};

const struct command cmd_suspend = {
	.name = "suspend",
	.operands = { "DOMAIN" },
	.options = CMD_CONNECT,
	.summary = "Save a domain (managed save) without its vGPUs",
	.help = "For guests that cannot be saved with a vGPU; 'virsh suspend' only pauses one.\n"
		"Detach the vGPUs, save the domain, and release the vGPUs for other domains. If\n"
		"the guest does not release a vGPU, or the save fails, attach the vGPUs again.\n",
	.needs = CMD_WRITE | CMD_LIBVIRT | CMD_CONFIG_MUST,
	.run = suspend_or_resume,
};

const struct command cmd_resume = {
	.name = "resume",
	.operands = { "DOMAIN" },
	.options = CMD_CONNECT,
	.summary = "Restore a domain that 'suspend' saved, with its vGPUs",
	.help = "If there is not enough capacity for all of its vGPUs, the domain remains saved.\n"
		"If it was started some other way, attach the missing vGPUs.\n",
	.needs = CMD_WRITE | CMD_LIBVIRT | CMD_CONFIG_MUST,
	.run = suspend_or_resume,
};

static int find_lease(struct cmd *cmd, const char *id, struct lease *lease, struct err *err)
{
	const struct vgpu_ref vgpu = kernel_vgpu(id);
	int wait_ms = cmd->config.policy.lock_timeout_s * 1000;
	int r = cmd->call->dry_run ? lease_get(&cmd->store, id, lease, err)
				   : lease_get_locked(&cmd->store, wait_ms, id, lease, err);

	if (r != 0)
		return r < 0 ? r : 0;
	if (kernel_exists(&cmd->host, &vgpu) == 1)
		return err_set(err, ENOENT,
			       "%s: device exists, but is not leased; 'vgpu-lease gc' removes it if it is an orphan",
			       id);
	return err_set(err, ENOENT, "%s: no such lease; 'vgpu-lease list' shows all leases", id);
}

/* Refuses a vGPU that is or may be open, is being created, or is kept for an arrival. Only warns if the domain runs. */
static int check_unused(const struct cmd *cmd, const struct lease *lease, struct err *err)
{
	struct libvirt_files *disk = NULL;
	struct err why;
	pid_t pid = 0;
	int64_t deadline = sys_now_ms() + (int64_t)cmd->config.policy.release_timeout_s * 1000;
	struct vfio_users *users = vfio_users_read(&cmd->host, deadline);
	int r = vfio_users_open(users, &cmd->host, lease->vgpu.id, &pid, err);

	vfio_users_free(users);
	if (r == 1)
		return err_set(err, EBUSY, "%s: held open by process %d for domain %s%s", lease->vgpu.id, (int)pid,
			       lease->name,
			       lease->state == LEASE_RELEASING ? ", which has ended; end that process first"
							       : "; shut down the domain first");
	if (r < 0)
		return r;
	if (lease->state == LEASE_CREATING && store_locked_vgpu(&cmd->store, lease->vgpu.id))
		return err_set(err, EBUSY, "%s: being created for domain %s; try again", lease->vgpu.id, lease->name);
	if (release_kept(lease, err) < 0)
		return -err->code;
	if (libvirt_files_read(&disk, &cmd->host, &why) == 0 && libvirt_files_runs(disk, lease->domain))
		out_warn("%s: domain %s is running, but no process has the device open", lease->vgpu.id, lease->name);
	libvirt_files_free(disk);
	return 0;
}

static int release_lease(struct cmd *cmd, const struct lease *lease, struct err *err)
{
	bool removes = lease->vgpu.framework != FW_VF && release_removes(&cmd->store, lease) &&
		       kernel_exists(&cmd->host, &lease->vgpu) == 1;
	int r = release_now(&cmd->store, &cmd->config.policy, lease, INT64_MAX, err);

	if (r == RELEASE_TAKEN)
		return err_set(err, EAGAIN, "%s: the lease has changed; see 'vgpu-lease list'", lease->vgpu.id);
	if (r < 0)
		return r;
	out_say("%s %s, %s on %s, of domain %s", removes ? "removed" : "dropped the lease of", lease->vgpu.id,
		lease->vgpu.type, lease->vgpu.parent, lease->name);
	event_log(EVENT_RELEASED, event_of(lease), "release: domain %s: released %s by hand", lease->name,
		  lease->vgpu.id);
	return CMD_DONE;
}

static int release(struct cmd *cmd, struct err *err)
{
	struct lease lease = { 0 };
	char id[ID_SIZE];

	id_parse(id, cmd->call->args.operands[0]);
	if (find_lease(cmd, id, &lease, err) < 0 || check_unused(cmd, &lease, err) < 0)
		return -err->code;
	if (!cmd->call->dry_run)
		return release_lease(cmd, &lease, err);
	return preview_release(cmd_lines(cmd), &cmd->store, lease.domain, id, err);
}

const struct command cmd_release = {
	.name = "release",
	.operands = { "ID" },
	.options = CMD_DRY_RUN,
	.summary = "Release one vGPU",
	.help = "'vgpu-lease list' shows the IDs. A created device is removed with its lease, and\n"
		"an adopted device is kept. A device that a process has open is not released.\n",
	.needs = CMD_WRITE,
	.run = release,
};
