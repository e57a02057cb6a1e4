/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* vgpu-lease check: would a start be refused now, and what is not as it was meant? */
#include <stdio.h>

#include "ops/check.h"
#include "cli/cmd.h"

static const char *const words[] = { [CHECK_PASS] = "PASS", [CHECK_WARN] = "WARN", [CHECK_FAIL] = "FAIL" };

static void print_json(const struct check *check)
{
	struct json_out json;

	cmd_json_begin(&json, NULL);
	json_out_bool(&json, "ok", check->count[CHECK_FAIL] == 0);
	json_out_array(&json, "checks");
	for (size_t i = 0; i < check->n; i++) {
		const struct finding *finding = &check->findings[i];

		json_out_object(&json, NULL);
		json_out_string(&json, "status", words[finding->status]);
		json_out_string(&json, "what", finding->what);
		json_out_string(&json, "where", finding->where);
		json_out_string(&json, "message", finding->text);
		json_out_string(&json, "fix", finding->fix);
		json_out_close(&json);
	}
	json_out_close(&json);
	json_out_end(&json);
}

static void print_text(const struct check *check)
{
	for (size_t i = 0; i < check->n; i++) {
		const struct finding *finding = &check->findings[i];

		cmd_say("%s  %-7s  %s%s%s%s%s", words[finding->status], finding->what,
			finding->where ? finding->where : "", finding->where ? ": " : "", finding->text,
			finding->fix ? ": " : "", finding->fix ? finding->fix : "");
	}
	cmd_say("%zu passed, %zu to look at, %zu failed; %zu of %zu pGPU%s in the pool", check->count[CHECK_PASS],
		check->count[CHECK_WARN], check->count[CHECK_FAIL], check->npool, check->ncards,
		check->ncards == 1 ? "" : "s");
}

static int run(const struct cmd_call *call, struct err *err)
{
	struct host host = { .root = -1 };
	struct check check = { .host = &host, .config_path = call->config_path, .simulated = call->root != NULL };
	int r = host_open(&host, call->root, err);

	if (r == 0) {
		check_run(&check);
		if (call->json)
			print_json(&check);
		else
			print_text(&check);
		r = check.count[CHECK_FAIL] ? CMD_FAILED : CMD_DONE;
		check_free(&check);
	}
	host_close(&host);
	return r;
}

const struct command cmd_check = {
	.name = "check",
	.options = CMD_JSON,
	.summary = "Check whether a start with each enabled type would succeed now",
	.help = "List all that was looked at, one line each: the configuration, the pGPUs that it names, a start with each enabled\n"
		"type as the hook would plan it, mdevctl's definitions, the hook, the state. PASS is well; WARN is worth a look,\n"
		"as a pGPU that is full; FAIL is broken, or not as the configuration says, and makes the exit status 1. Writes\n"
		"nothing.\n",
	.run = run,
};
