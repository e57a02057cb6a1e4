/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* vgpu-lease release ID: releases one vGPU by hand. */
#include <errno.h>

#include "cli/cmd.h"
#include "device/release.h"
#include "host/vfio_users.h"
#include "base/ident.h"
#include "host/kernel.h"
#include "state/lease_store.h"
#include "model/event.h"
#include "host/libvirt_files.h"
#include "ops/preview.h"
#include "survey/reclaim.h"

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

/* Refuses a vGPU that is open or being created. Only warns if the domain seems to run. */
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
	if (lease->state == LEASE_CREATING && reclaim_at_work(&cmd->store, lease))
		return err_set(err, EBUSY, "%s: being created for domain %s; try again", lease->vgpu.id, lease->name);
	if (libvirt_files_read(&disk, &cmd->host, &why) == 0 && libvirt_files_runs(disk, lease->domain))
		out_warn("%s: domain %s is running, but no process has the device open", lease->vgpu.id, lease->name);
	libvirt_files_free(disk);
	return 0;
}

static int release_lease(struct cmd *cmd, const struct lease *lease, struct err *err)
{
	const struct policy *policy = &cmd->config.policy;
	const struct event_about about = event_of(lease);
	bool removes = release_removes(&cmd->store, lease) && kernel_exists(&cmd->host, &lease->vgpu) == 1;
	int r = release_now(&cmd->store, policy, lease, err);

	if (r == 0)
		return err_set(err, EAGAIN, "%s: the lease has changed; see 'vgpu-lease list'", lease->vgpu.id);
	if (r < 0)
		return r;
	out_say("%s %s, %s on %s, of domain %s", removes ? "removed" : "dropped the lease of", lease->vgpu.id,
		lease->vgpu.type, lease->vgpu.parent, lease->name);
	event_log(EVENT_RELEASED, &about, "release: domain %s: released %s by hand", lease->name, lease->vgpu.id);
	return CMD_DONE;
}

static int run(struct cmd *cmd, struct err *err)
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
	.operand = "ID",
	.options = CMD_DRY_RUN,
	.summary = "Release one vGPU",
	.help = "'vgpu-lease list' shows the IDs. A created device is removed with its lease; an\n"
		"adopted device is kept, and only the lease is removed. If a process has the\n"
		"device open, the release is refused, and nothing is changed.\n",
	.needs = CMD_WRITE,
	.run = run,
};
