/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* vgpu-lease check: is the configuration right, and is the host as it says? */
#include <stdio.h>

#include "audit.h"
#include "cmd.h"

static const char *level_word(enum audit_level level)
{
	return level == AUDIT_ERROR ? "error" : "warning";
}

static void print_json(const struct audit *audit)
{
	struct json_out json;

	json_out_begin(&json, stdout);
	json_out_number(&json, "version", 1);
	json_out_bool(&json, "ok", audit->nerrors == 0);
	json_out_array(&json, "findings");
	for (size_t i = 0; i < audit->n; i++) {
		json_out_object(&json, NULL);
		json_out_string(&json, "level", level_word(audit->findings[i].level));
		json_out_string(&json, "where", audit->findings[i].where);
		json_out_string(&json, "text", audit->findings[i].text);
		json_out_close(&json);
	}
	json_out_close(&json);
	json_out_end(&json);
}

static void print_text(const struct audit *audit)
{
	for (size_t i = 0; i < audit->n; i++) {
		const struct finding *finding = &audit->findings[i];

		cmd_say("%s: %s%s%s", level_word(finding->level), finding->where ? finding->where : "",
			finding->where ? ": " : "", finding->text);
	}
	if (audit->nerrors == 0)
		cmd_say("all is well: %zu of %zu pGPU%s in the pool", audit->npool, audit->ncards,
			audit->ncards == 1 ? "" : "s");
}

static int run(const struct cmd_call *call, struct err *err)
{
	struct host host = { .root = -1 };
	struct audit audit = { .host = &host, .config_path = call->config_path, .simulated = call->root != NULL };
	int r = host_open(&host, call->root, err);

	if (r == 0) {
		audit_run(&audit);
		if (call->json)
			print_json(&audit);
		else
			print_text(&audit);
		r = audit.nerrors ? CMD_FAILED : CMD_DONE;
		audit_free(&audit);
	}
	host_close(&host);
	return r;
}

const struct command cmd_check = {
	.name = "check",
	.options = CMD_JSON,
	.summary = "looks whether the configuration is right and the host as it says",
	.help = "Each finding is one line with its cure: the configuration, pGPUs that it names and that are not there or not\n"
		"ready, mdevctl's definitions that go against it, the hook's place, the state. Fails where there is an error; a\n"
		"warning is worth a look. Writes nothing.\n",
	.run = run,
};
