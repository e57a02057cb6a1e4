/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* vgpu-lease check: checks the configuration against this host. */
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "cli/cmd.h"
#include "host/libvirt_daemon.h"
#include "ops/check.h"

static void print_json(const struct check *check)
{
	struct json_out json;

	cmd_json_begin(&json, NULL);
	json_out_bool(&json, "ok", check->count[CHECK_FAIL] == 0);
	json_out_number(&json, "pgpus", (long)check->ncards);
	json_out_number(&json, "pgpus_in_pool", (long)check->npool);
	json_out_array(&json, "checks");
	for (size_t i = 0; i < check->n; i++)
		out_json_finding(&json, &check->findings[i]);
	json_out_close(&json);
	json_out_end(&json);
}

static void print_text(const struct check *check)
{
	static const char *const colours[] = { TERM_GREEN, TERM_YELLOW, TERM_RED };
	const struct term *term = term_stdout();

	for (size_t i = 0; i < check->n; i++) {
		const struct finding *finding = &check->findings[i];

		autofree char *text = out_finding_text(finding);
		printf("%s%s%s  %s", term_colour(term, colours[finding->status]), out_finding_words[finding->status],
		       term_colour(term, TERM_PLAIN), finding->what);
		term_wrap_behind(stdout, term, 6 + (int)strlen(finding->what), 15, text);
	}
	out_say("%zu passed, %zu warning%s, %zu failed; %zu of %zu pGPU%s in the pool", check->count[CHECK_PASS],
		check->count[CHECK_WARN], check->count[CHECK_WARN] == 1 ? "" : "s", check->count[CHECK_FAIL],
		check->npool, check->ncards, check->ncards == 1 ? "" : "s");
}

static int run(struct cmd *cmd, struct err *err)
{
	const struct args *args = &cmd->call->args;
	struct check check = { .host = &cmd->host, .config_path = args->config, .simulated = args->root != NULL };
	const char *held = "";
	int r = host_open(&cmd->host, args->root, err);

	if (r < 0)
		return r;
	libvirt_daemon_follow(&cmd->host);
	/* If the lock is held, the check can wait as long as a start does. check_run() reports errors of the store. */
	if (store_open(&cmd->store, &cmd->host, false, err) == 0 && store_locked(&cmd->store, NULL))
		held = "; /run/vgpu-lease/lock is held";
	int progress = out_progress(false, "checking this host%s", held);
	check_run(&check);
	out_progress_end(progress);
	if (cmd->call->json)
		print_json(&check);
	else
		print_text(&check);
	r = check.count[CHECK_FAIL] ? CMD_FAILED : CMD_DONE;
	check_free(&check);
	return r;
}

const struct command cmd_check = {
	.name = "check",
	.options = CMD_JSON,
	.summary = "Check the configuration against this host",
	.help = "Check the configuration, its pGPUs, a start with each enabled type, the mdevctl\n"
		"definitions, the hook and the state, and print one line per check:\n"
		"\n"
		"  PASS  no problem\n"
		"  WARN  needs attention, such as a full pGPU\n"
		"  FAIL  broken, or not as configured; the exit status is 1\n"
		"\n"
		"Nothing is changed.\n",
	.needs = CMD_BARE,
	.run = run,
};
