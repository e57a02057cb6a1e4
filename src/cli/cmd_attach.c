/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* vgpu-lease attach DOMAIN, vgpu-lease detach DOMAIN ID: one vGPU more for a domain that runs, or one less. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/cmd.h"

/* Which type, where nobody says it and there are several? */
static int check_type(const struct cmd *cmd, struct err *err)
{
	char list[1024] = "";
	int types = 0;

	for (size_t i = 0; i < cmd->config.nsections; i++) {
		const struct section *section = &cmd->config.sections[i];
		size_t n = strlen(list);

		if (section->enabled)
			snprintf(list + n, sizeof(list) - n, "%s%s", types++ ? ", " : "", section->type);
	}
	if (cmd->call->type || types == 1)
		return 0;
	return err_set(err, EINVAL, "which type? Give --type with one of %s", types ? list : "(the pool has none)");
}

static int attach(const struct cmd_call *call, struct err *err)
{
	struct lease lease = { 0 };
	struct hotplug hp;
	struct cmd cmd;
	int r = cmd_hotplug(&cmd, &hp, call, CMD_CONFIG_MUST, true, err);

	if (r == 0)
		r = check_type(&cmd, err);
	if (r == 0)
		r = hotplug_attach(&hp, call->type, call->persistent, &lease, err);
	if (r == 0)
		cmd_say("attached %s, %s on %s, to domain %s", lease.vgpu.id, lease.vgpu.type, lease.vgpu.parent,
			hp.domain.name);
	hotplug_close(&hp);
	cmd_close(&cmd);
	return r;
}

static int detach(const struct cmd_call *call, struct err *err)
{
	char id[ID_SIZE];
	struct hotplug hp;
	struct cmd cmd;
	int r;

	if (!id_parse(id, call->operands[1])) {
		err_set(err, EINVAL, "%s: that is no ID: neither a UUID nor a PCI address", call->operands[1]);
		return CMD_USAGE;
	}
	r = cmd_hotplug(&cmd, &hp, call, CMD_CONFIG_MAY, true, err);
	if (r == 0)
		r = hotplug_detach(&hp, id, call->persistent, err);
	if (r == 0)
		cmd_say("detached %s from domain %s", id, hp.domain.name);
	hotplug_close(&hp);
	cmd_close(&cmd);
	return r;
}

const struct command cmd_attach = {
	.name = "attach",
	.operand = "DOMAIN",
	.options = CMD_TYPE | CMD_PERSISTENT | CMD_CONNECT,
	.summary = "leases one more vGPU for a domain that runs, and attaches it",
	.help = "As at a start: the pool, the quota and the placement decide, and without room it is refused. --type takes an id, a\n"
		"name or a class, and can be left out where the pool has one type. With --persistent the domain keeps it over\n"
		"its next start. After a failure nothing is left of the attempt.\n",
	.run = attach,
};

const struct command cmd_detach = {
	.name = "detach",
	.operand = "DOMAIN",
	.second = "ID",
	.options = CMD_PERSISTENT | CMD_CONNECT,
	.summary = "takes a vGPU from a domain that runs, and gives it back",
	.help = "Waits until QEMU says that the guest has let go, at most release_timeout. A guest that does not let go keeps the\n"
		"vGPU, and the lease stays; so does one that lets go later, until the handler sees it or detach is called again.\n",
	.run = detach,
};
