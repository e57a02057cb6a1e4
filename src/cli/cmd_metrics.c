/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* vgpu-lease metrics: the state of the host for Prometheus. */
#include "cli/cmd.h"
#include "ops/gc.h"
#include "ops/metrics.h"

static int run(struct cmd *cmd, struct err *err)
{
	autosurvey struct world world = { 0 };
	struct gc pass = cmd_gc_pass(cmd, &world);
	const struct metrics metrics = { .world = &world, .config_valid = cmd->has_config, .pass = &pass };
	int r = cmd_survey(cmd, &world, err);

	if (r == 0)
		r = gc_run(&pass, err);
	if (r == 0)
		r = metrics_print(stdout, &metrics, err);
	gc_free(&pass);
	return r;
}

const struct command cmd_metrics = {
	.name = "metrics",
	.summary = "Print metrics for Prometheus",
	.help = "The output is in Prometheus' text format. With metrics = yes in [policy], the\n"
		"device handler also writes it to /run/vgpu-lease/metrics.prom after each pass.\n",
	.needs = CMD_CONFIG_READ,
	.run = run,
};
