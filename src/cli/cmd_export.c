/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* vgpu-lease export: this host's vGPUs in the formats of OpenStack. */
#include <errno.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/text.h"
#include "cli/export.h"

#define PROVIDER_CONFIG "nova-provider-config"
#define PLACEMENT "placement"
#define NOVA_PCI "nova-pci"

static bool is_format(const struct cmd_call *call, const char *format)
{
	return strcmp(call->args.operands[0], format) == 0;
}

/* Placement takes 200 characters for a provider's name. */
static bool is_host_name(const char *name)
{
	for (const char *c = name; *c; c++)
		if (*c <= ' ' || *c > '~' || *c == '/')
			return false;
	return *name && strlen(name) < 150;
}

static int check(const struct cmd_call *call, struct err *err)
{
	if (!is_format(call, PROVIDER_CONFIG) && !is_format(call, PLACEMENT) && !is_format(call, NOVA_PCI))
		return err_set(err, EINVAL,
			       "unknown format '%s': expected " PROVIDER_CONFIG ", " PLACEMENT " or " NOVA_PCI,
			       call->args.operands[0]);
	if (call->args.bits & CMD_TABLE && !is_format(call, PLACEMENT))
		return err_set(err, EINVAL, "export %s takes no --json, --output, --sort or --no-headings",
			       call->args.operands[0]);
	if (call->hostname && !is_host_name(call->hostname))
		return err_set(err, EINVAL, "invalid value '%s' of --hostname: expected a host name", call->hostname);
	return 0;
}

/* As libvirt finds the name that Nova asks it for: the fully qualified one, if there is one. */
static int find_hostname(char name[EXPORT_HOST_SIZE], struct err *err)
{
	const struct addrinfo hints = { .ai_flags = AI_CANONNAME, .ai_family = AF_UNSPEC };
	struct addrinfo *info = NULL;

	if (gethostname(name, EXPORT_HOST_SIZE - 1) < 0)
		return err_sys(err, errno, "host name");
	name[EXPORT_HOST_SIZE - 1] = '\0';
	if (!strchr(name, '.') && strncmp(name, "localhost", 9) != 0 && getaddrinfo(name, NULL, &hints, &info) == 0) {
		if (info->ai_canonname && strncmp(info->ai_canonname, "localhost", 9) != 0)
			text_copy(name, EXPORT_HOST_SIZE, info->ai_canonname);
		freeaddrinfo(info);
	}
	return is_host_name(name) ? 0 : err_set(err, EINVAL, "the name of this host is not usable; use --hostname");
}

static int run(struct cmd *cmd, struct err *err)
{
	autofree struct definition *definitions = NULL;
	char host[EXPORT_HOST_SIZE] = "";
	struct nova_inventory nova;
	autosurvey struct world world = { 0 };
	const struct export export = { .world = &world,
				       .nova = &nova,
				       .host = cmd->call->hostname ? cmd->call->hostname : host };
	size_t n;

	if (!cmd->config.policy.nova && !is_format(cmd->call, NOVA_PCI))
		return err_set(err, EPERM, "nova_conf is not set; name Nova's configuration in [devices]");
	if (!cmd->call->hostname && find_hostname(host, err) < 0)
		return -err->code;
	if (cmd_survey(cmd, &world, err) < 0 || mdevctl_definitions(&definitions, &n, &cmd->host, err) < 0)
		return -err->code;
	nova_inventory_make(&nova, &world.inv, definitions, n);
	if (is_format(cmd->call, PLACEMENT))
		export_placement(cmd, &export);
	else if (is_format(cmd->call, NOVA_PCI))
		export_pci(stdout, &export);
	else
		export_provider_config(stdout, &export);
	nova_inventory_free(&nova);
	return CMD_DONE;
}

const struct command cmd_export = {
	.name = "export",
	.operand = "FORMAT",
	.options = CMD_TABLE | CMD_HOSTNAME,
	.summary = "Print OpenStack configuration and inventory",
	.help = "FORMAT is one of:\n"
		"\n"
		"nova-provider-config  A file for /etc/nova/provider_config, with traits for the\n"
		"                      resource providers of nova-compute, one per parent of\n"
		"                      mdevs.\n"
		"\n"
		"placement             The resource providers, and what Nova counts on each.\n"
		"\n"
		"nova-pci              Section [pci] of nova.conf for the VFs of the pool.\n",
	.needs = CMD_CONFIG_MUST,
	.table = &export_placement_layout,
	.check = check,
	.run = run,
};
