/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* vgpu-lease status: show the host at a glance. check: check the configuration against this host. */
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/text.h"
#include "cli/status.h"
#include "look/libvirt_files.h"

static void json_finding(struct json_out *json, const struct finding *finding)
{
	json_out_object(json, NULL);
	json_out_string(json, "status", out_finding_words[finding->status]);
	json_out_string(json, "what", finding->what);
	json_out_string(json, "where", finding->where);
	json_out_string(json, "message", finding->text);
	json_out_string(json, "fix", finding->fix);
	json_out_close(json);
}

static void print_json(const struct status *status, struct json_out *json)
{
	json_out_string(json, "host", status->host);
	json_out_string(json, "nvidia_driver", status->cmd->world.inv.nvidia_driver);
	json_out_array(json, "problems");
	for (size_t i = 0; i < status->check.n; i++)
		if (status->check.findings[i].status != CHECK_PASS)
			json_finding(json, &status->check.findings[i]);
	json_out_close(json);
	status_json_pgpus(json, status);
	status_json_vgpus(json, &status->rows[status->nrows]);
}

static void check_host(struct status *status, struct cmd *cmd)
{
	char name[sizeof(status->host)] = "";

	status->check = (struct check){ .host = &cmd->host,
					.config_path = cmd->call->args.config,
					.seen = &cmd->world,
					.config = config_is_valid(&cmd->config) ? &cmd->config : NULL };
	check_run(&status->check);
	if (gethostname(name, sizeof(name) - 1) < 0)
		text_copy(name, sizeof(name), "this host");
	text_cut(status->host, sizeof(status->host), cmd->call->args.root ? cmd->call->args.root : name);
}

static int run(struct cmd *cmd, struct err *err)
{
	autostatus struct status status = { 0 };

	if (status_read(&status, cmd, err) < 0)
		return -err->code;
	check_host(&status, cmd);
	if (cmd->call->json)
		print_json(&status, cmd_json(cmd));
	else
		status_print(&status);
	return 0;
}

const struct command cmd_status = {
	.name = "status",
	.options = CMD_JSON | CMD_DOMAIN | CMD_PGPU | CMD_TYPE | CMD_STATE,
	.summary = "Show the host at a glance (default command)",
	.help = "Print the problems that 'vgpu-lease check' finds, and each pGPU with its\n"
		"framebuffer and instances in use, and its vGPUs. --type alone also selects the\n"
		"pGPUs configured for it. Problems do not change the exit status.\n",
	.needs = CMD_CONFIG_OWN,
	.run = run,
};

static void print_check_json(const struct check *check, struct json_out *json)
{
	json_out_bool(json, "ok", check->count[CHECK_FAIL] == 0);
	json_out_number(json, "pgpus", (long)check->ncards);
	json_out_number(json, "pgpus_in_pool", (long)check->npool);
	json_out_array(json, "checks");
	for (size_t i = 0; i < check->n; i++)
		json_finding(json, &check->findings[i]);
}

static void print_check(const struct check *check)
{
	static const char *const colours[] = { TERM_GREEN, TERM_YELLOW, TERM_RED };

	for (EACH(const struct finding *, finding, check->findings, check->n)) {
		autofree char *text = out_finding_text(finding);
		printf("%s%s%s  %s", term_colour(colours[finding->status]), out_finding_words[finding->status],
		       term_colour(TERM_PLAIN), finding->what);
		term_wrap_behind(6 + (int)strlen(finding->what), 15, text);
	}
	out_say("%zu passed, %zu warning%s, %zu failed; %zu of %zu pGPU%s in the pool", check->count[CHECK_PASS],
		check->count[CHECK_WARN], check->count[CHECK_WARN] == 1 ? "" : "s", check->count[CHECK_FAIL],
		check->npool, check->ncards, check->ncards == 1 ? "" : "s");
}

static int check_now(struct cmd *cmd, struct err *err)
{
	const struct args *args = &cmd->call->args;
	struct check check = { .host = &cmd->host, .config_path = args->config };
	const char *held = "";
	int r = host_open(&cmd->host, args->root, err);

	if (r < 0)
		return r;
	libvirt_daemon_follow(&cmd->host);
	/* check_run() can wait a long time for a held lock. Ignore an error here, because check_run() reports it. */
	if (store_open(&cmd->store, &cmd->host, false, err) == 0 && store_locked(&cmd->store, STORE_LOCK))
		held = "; /run/vgpu-lease/lock is held";
	out_progress(false, "checking this host%s", held);
	check_run(&check);
	out_progress_end();
	if (cmd->call->json)
		print_check_json(&check, cmd_json(cmd));
	else
		print_check(&check);
	r = check.count[CHECK_FAIL] ? CMD_FAILED : CMD_DONE;
	check_free(&check);
	return r;
}

const struct command cmd_check = {
	.name = "check",
	.options = CMD_JSON,
	.summary = "Check the configuration against this host",
	.help = "Print one line per check: PASS, WARN (needs attention, such as a full pGPU) or\n"
		"FAIL (broken, or not as configured; the exit status is 1). Nothing is changed.\n",
	.needs = CMD_BARE,
	.run = check_now,
};
