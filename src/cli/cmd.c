/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the sub-commands share: the host, its configuration and leases, files. */
#include "cli/cmd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/file.h"
#include "base/ident.h"
#include "base/log.h"
#include "base/text.h"
#include "domain/domxml.h"
#include "host/libvirt_daemon.h"
#include "ops/gc.h"

static int read_config(struct cmd *cmd, unsigned int needs, struct err *err)
{
	int r = config_load(&cmd->config, &cmd->host, cmd->call->args.config, err);

	cmd->has_config = r == 0;
	if (r == 0)
		return 0;
	config_default(&cmd->config);
	if (r == -ENOENT)
		err_in(err, "there is no configuration");
	snprintf(cmd->why_no_config, sizeof(cmd->why_no_config), "%s", err->text);
	/* One that was asked for by name has to be there. */
	cmd->wrong_config = r != -ENOENT || cmd->call->args.config;
	if (needs & CMD_CONFIG_MUST)
		return r;
	if (cmd->wrong_config && !(needs & CMD_CONFIG_OWN))
		out_warn("%s", err->text);
	err->code = 0;
	return 0;
}

int cmd_open(struct cmd *cmd, const struct cmd_call *call, unsigned int needs, struct err *err)
{
	bool write = needs & CMD_WRITE && !call->dry_run;

	*cmd = (struct cmd){ .call = call, .host.root = -1, .store = CMD_NO_STORE };
	cmd->hp = (struct hotplug){
		.host = &cmd->host, .store = &cmd->store, .policy = &cmd->config.policy, .uri = call->connect
	};
	if (needs & CMD_BARE)
		return 0;
	if (needs & CMD_LIBVIRT && call->args.root && !call->connect)
		return err_set(err, EINVAL, "%s: no libvirt on a simulated host; use --connect URI", call->args.root);
	if (write && !call->args.root && geteuid() != 0)
		return err_set(err, EPERM, "cannot change leases: permission denied; run as root");
	if (write)
		log_open("vgpu-lease", call->args.root);
	if (host_open(&cmd->host, call->args.root, err) < 0 || read_config(cmd, needs, err) < 0)
		return -err->code;
	libvirt_daemon_follow(&cmd->host);
	if (store_open(&cmd->store, &cmd->host, write, err) < 0)
		return err->code == EACCES ? err_set(err, EACCES, "cannot read leases: permission denied; run as root")
					   : -err->code;
	cmd->hp.config = cmd->has_config ? &cmd->config : NULL;
	return needs & CMD_LIBVIRT ? hotplug_open(&cmd->hp, call->args.operands[0], err) : 0;
}

void cmd_close(struct cmd *cmd)
{
	hotplug_close(&cmd->hp);
	store_close(&cmd->store);
	config_free(&cmd->config);
	host_close(&cmd->host);
}

int cmd_survey(struct cmd *cmd, struct survey *survey, struct err *err)
{
	static const struct request nothing;

	*survey = (struct survey){ .host = &cmd->host,
				   .store = &cmd->store,
				   .config = &cmd->config,
				   .asked = &nothing,
				   .depth = SURVEY_INVENTORY,
				   .dry = true };
	if (survey_start(survey, err) < 0 || survey_read(survey, err) < 0)
		return -err->code;
	return survey_leases(survey, err);
}

struct gc cmd_gc_pass(struct cmd *cmd)
{
	return (struct gc){ .store = &cmd->store,
			    .config = cmd->has_config ? &cmd->config : NULL,
			    .policy = &cmd->config.policy,
			    .dry = true };
}

int cmd_check_grace(const struct cmd_call *call, struct err *err)
{
	long grace_s;

	if (!call->grace || text_number(call->grace, 0, CONFIG_GRACE_MAX_S, &grace_s))
		return 0;
	return err_set(err, EINVAL, "invalid value '%s' of --grace: expected seconds, 0 to %d", call->grace,
		       CONFIG_GRACE_MAX_S);
}

void cmd_take_grace(struct cmd *cmd)
{
	long grace_s;

	if (cmd->call->grace && text_number(cmd->call->grace, 0, CONFIG_GRACE_MAX_S, &grace_s))
		cmd->config.policy.reclaim_grace_s = (int)grace_s;
}

int cmd_check_word(const char *kind, const char *word, struct err *err)
{
	char id[ID_SIZE], pgpu[PARENT_SIZE], type[TYPE_SIZE];

	if (strcmp(kind, "ID") == 0 && !id_parse(id, word))
		return err_set(err, EINVAL, "invalid ID '%s': expected a UUID or a PCI address", word);
	if (strcmp(kind, "PGPU") == 0 && !parent_parse(pgpu, word))
		return err_set(err, EINVAL, "invalid pGPU '%s': expected an address from 'vgpu-lease inventory'", word);
	if (strcmp(kind, "TYPE") == 0 && !type_parse(type, word))
		return err_set(err, EINVAL, "invalid type '%s': expected an id from 'vgpu-lease types'", word);
	if (strcmp(kind, "STATE") != 0)
		return 0;
	for (enum lease_state state = LEASE_RESERVED; state <= LEASE_RELEASING; state++)
		if (strcmp(word, lease_state_word(state)) == 0)
			return 0;
	return err_set(err, EINVAL, "invalid state '%s': expected reserved, creating, active or releasing", word);
}

int cmd_check_filters(const struct cmd_call *call, struct err *err)
{
	if ((call->type && cmd_check_word("TYPE", call->type, err) < 0) ||
	    (call->pgpu && cmd_check_word("PGPU", call->pgpu, err) < 0) ||
	    (call->state && cmd_check_word("STATE", call->state, err) < 0))
		return -err->code;
	return 0;
}

bool cmd_shows(const struct cmd_call *call, const struct vgpu_ref *vgpu, const struct lease *lease)
{
	if ((call->type && strcmp(call->type, vgpu->type) != 0) ||
	    (call->pgpu && !pool_address_is(call->pgpu, vgpu->pgpu)))
		return false;
	if (!lease)
		return !call->domain && !call->state;
	return (!call->state || strcmp(call->state, lease_state_word(lease->state)) == 0) &&
	       (!call->domain || strcmp(call->domain, lease->name) == 0 ||
		strcasecmp(call->domain, lease->domain) == 0);
}

static bool json_begun;

void cmd_json_begin(struct json_out *json, const struct cmd *cmd)
{
	json_begun = true;
	json_out_begin(json, stdout);
	json_out_number(json, "version", 1);
	if (cmd && cmd->wrong_config)
		json_out_string(json, "error", cmd->why_no_config);
}

void cmd_json_error(const struct err *err)
{
	struct json_out json;

	if (json_begun)
		return;
	cmd_json_begin(&json, NULL);
	json_out_string(&json, "error", err->text);
	json_out_end(&json);
}

const char *cmd_shown(const char *path)
{
	return strcmp(path, "-") == 0 ? "standard input" : path;
}

int cmd_read_xml(const char *path, char **xml, size_t *len, struct err *err)
{
	autoclose int fd = strcmp(path, "-") == 0 ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);
	int r = fd < 0 ? -errno : file_slurp(fd, DOMXML_MAX, xml, len);

	if (r == 0)
		return 0;
	if (r == -EFBIG)
		err_set(err, EFBIG, "%s: larger than %d MiB: not a domain XML", cmd_shown(path), DOMXML_MAX >> 20);
	else
		err_sys(err, -r, "%s", cmd_shown(path));
	return CMD_USAGE;
}
