/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the sub-commands share: the host, its configuration and leases; files and times. */
#include "cli/cmd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/auto.h"
#include "domain/domxml.h"
#include "base/file.h"
#include "base/log.h"
#include "base/text.h"

void cmd_say(const char *fmt, ...)
{
	char *text;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&text, fmt, ap);
	va_end(ap);
	autofree char *safe = n < 0 ? NULL : malloc(4 * (size_t)n + 1); /* each byte can become \xNN */
	if (!safe)
		abort();
	text_safe(safe, 4 * (size_t)n + 1, text);
	free(text);
	puts(safe);
}

void cmd_warn(const char *fmt, ...)
{
	struct err err = { 0 };
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(err.text, sizeof(err.text), fmt, ap);
	va_end(ap);
	err_print(stderr, "vgpu-lease: warning", &err);
}

static int read_config(struct cmd *cmd, enum cmd_config config, struct err *err)
{
	int r = config_load(&cmd->config, &cmd->host, cmd->call->config_path, err);

	cmd->has_config = r == 0;
	if (r == 0)
		return 0;
	config_default(&cmd->config);
	if (r == -ENOENT)
		err_in(err, "there is no configuration");
	snprintf(cmd->why_no_config, sizeof(cmd->why_no_config), "%s", err->text);
	/* One that was asked for by name has to be there. */
	if (r == -ENOENT && !cmd->call->config_path)
		return 0;
	cmd->wrong_config = true;
	if (config == CMD_CONFIG_MUST)
		return r;
	if (config == CMD_CONFIG_MAY)
		cmd_warn("%s", err->text);
	return 0;
}

int cmd_open(struct cmd *cmd, const struct cmd_call *call, enum cmd_config config, bool write, struct err *err)
{
	*cmd = (struct cmd){ .call = call, .host.root = -1, .store = CMD_NO_STORE };
	if (write && !call->root && geteuid() != 0)
		return err_set(err, EPERM, "this changes vGPUs, and only root can: run it with sudo");
	if (host_open(&cmd->host, call->root, err) < 0)
		return -err->code;
	if (read_config(cmd, config, err) < 0)
		return -err->code;
	err->code = 0;
	if (store_open(&cmd->store, &cmd->host, write, err) < 0)
		return err->code == EACCES
			       ? err_set(err, EACCES, "cannot read the leases: permission denied: run as root")
			       : -err->code;
	return 0;
}

void cmd_close(struct cmd *cmd)
{
	store_close(&cmd->store);
	config_free(&cmd->config);
	host_close(&cmd->host);
}

int cmd_run(const struct command *command, const struct cmd_call *call, struct err *err)
{
	struct cmd cmd;
	int r;

	if (command->run)
		return command->run(call, err);
	r = cmd_open(&cmd, call, CMD_CONFIG_MAY, false, err);
	if (r == 0)
		r = command->show(&cmd, err);
	cmd_close(&cmd);
	return r;
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

int cmd_hotplug(struct cmd *cmd, struct hotplug *hp, const struct cmd_call *call, enum cmd_config config, bool write,
		struct err *err)
{
	*hp = (struct hotplug){ .host = &cmd->host, .store = &cmd->store, .uri = call->connect };
	*cmd = (struct cmd){ .call = call, .host.root = -1, .store = CMD_NO_STORE };
	if (call->root && !call->connect)
		return err_set(err, EINVAL, "%s has no libvirt of its own: name one with --connect", call->root);
	if (!call->root && write)
		log_open("vgpu-lease");
	if (cmd_open(cmd, call, config, write, err) < 0)
		return -err->code;
	if (!cmd->has_config && config == CMD_CONFIG_MUST)
		return err_set(err, ENOENT, "%s: nothing can be leased without one", cmd->why_no_config);
	hp->config = cmd->has_config ? &cmd->config : NULL;
	hp->policy = &cmd->config.policy;
	return hotplug_open(hp, call->operands[0], err);
}

const char *cmd_why_not(const struct cmd *cmd, const struct survey *survey, size_t pgpu)
{
	const struct inv_pgpu *card = &survey->inv.pgpus[pgpu];
	const struct pool_card *pooled = &survey->pool.cards[pgpu];

	if (pooled->in_pool)
		return NULL;
	if (!card->ready)
		return card->reason;
	return cmd->has_config ? pooled->reason : cmd->why_no_config;
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

void cmd_json_type(struct json_out *json, const struct inv_type *type, const char *class)
{
	json_out_string(json, "id", type->id);
	json_out_string(json, "name", type->name);
	json_out_string(json, "class", class);
	json_out_known(json, "framebuffer_mib", type->framebuffer_mib);
	json_out_known(json, "heads", type->heads);
	json_out_text(json, "resolution", type->resolution);
}

const char *cmd_shown(const char *path)
{
	return strcmp(path, "-") == 0 ? "standard input" : path;
}

int cmd_read_xml(const char *path, char **xml, size_t *len, struct err *err)
{
	bool is_stdin = strcmp(path, "-") == 0;
	autoclose int fd = is_stdin ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);
	const char *shown = cmd_shown(path);
	int r = fd < 0 ? -errno : file_slurp(fd, DOMXML_MAX, xml, len);

	if (r == -EFBIG)
		return err_set(err, EFBIG, "%s: over %d MiB, so no domain's XML", shown, DOMXML_MAX >> 20);
	return r < 0 ? err_sys(err, -r, "%s", shown) : 0;
}

void cmd_wall_time(char out[32], int64_t boot_ms)
{
	int64_t ago_ms = host_now_ms() - boot_ms;
	struct timespec now;
	struct tm tm;
	time_t then;

	clock_gettime(CLOCK_REALTIME, &now);
	then = now.tv_sec - (time_t)((ago_ms - now.tv_nsec / 1000000 + 999) / 1000);
	gmtime_r(&then, &tm);
	strftime(out, 32, "%Y-%m-%dT%H:%M:%SZ", &tm);
}
