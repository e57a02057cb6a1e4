/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* vgpu-lease suspend DOMAIN, vgpu-lease resume DOMAIN: saving a guest whose vGPUs cannot be saved. */
#include "cli/cmd.h"

static int change(const struct cmd_call *call, int (*act)(struct hotplug *hp, size_t *n, struct err *err),
		  const char *done, const char *what, struct err *err)
{
	struct hotplug hp;
	struct cmd cmd;
	size_t n;
	int r = cmd_hotplug(&cmd, &hp, call, CMD_CONFIG_MUST, true, err);

	if (r == 0)
		r = act(&hp, &n, err);
	if (r == 0)
		cmd_say("%s domain %s: %zu vGPU%s %s", done, hp.domain.name, n, n == 1 ? "" : "s", what);
	hotplug_close(&hp);
	cmd_close(&cmd);
	return r;
}

static int suspend(const struct cmd_call *call, struct err *err)
{
	return change(call, hotplug_suspend, "suspended", "given back", err);
}

static int resume(const struct cmd_call *call, struct err *err)
{
	return change(call, hotplug_resume, "resumed", "attached", err);
}

const struct command cmd_suspend = {
	.name = "suspend",
	.operand = "DOMAIN",
	.options = CMD_CONNECT,
	.summary = "takes all vGPUs from a domain that runs, and saves it",
	.help = "A managed save, for guests that cannot be saved with a vGPU. The vGPUs are given back, others can have their\n"
		"places meanwhile; which they were is saved with the domain. Where the guest does not let one go, or the save\n"
		"fails, it gets them back.\n",
	.run = suspend,
};

const struct command cmd_resume = {
	.name = "resume",
	.operand = "DOMAIN",
	.options = CMD_CONNECT,
	.summary = "restores a domain that was suspended, with its vGPUs",
	.help = "Leases vGPUs of the same types and UUIDs, restores the domain and attaches them at their old places in the guest.\n"
		"Without room for all of them the domain stays saved. Of a domain that was restored by other means, it attaches\n"
		"what that one lacks.\n",
	.run = resume,
};
