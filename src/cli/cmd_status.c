/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* vgpu-lease status: the host at a glance. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "base/udev.h"
#include "cli/status.h"

static int row_of(const struct status *status, const char *pgpu)
{
	size_t row = 0;

	while (row < status->nrows && strcmp(status->rows[row].card.address, pgpu) != 0)
		row++;
	return (int)row;
}

static void add_vgpu(struct status *status, const struct vgpu_ref *ref, const struct lease *lease)
{
	const struct inv_type *type = inventory_type(&status->survey.inv, ref->type);
	int row = row_of(status, ref->pgpu);

	if (row == (int)status->nrows && status->cmd->call->pgpu)
		return;
	status->vgpus[status->nvgpus++] = (struct status_vgpu){ .ref = ref,
								.lease = lease,
								.mib = type    ? type->framebuffer_mib
								       : lease ? lease->framebuffer_mib
									       : UNKNOWN,
								.row = row };
}

static int by_row(const void *a, const void *b)
{
	const struct status_vgpu *x = a, *y = b;

	return x->row != y->row ? x->row - y->row : strcmp(x->ref->id, y->ref->id);
}

static int gather(struct status *status, struct cmd *cmd, struct err *err)
{
	const struct inventory *inv = &status->survey.inv;
	const struct leases *leases = &status->survey.leases;
	char name[sizeof(status->host)] = "";

	if (cmd_survey(cmd, &status->survey, err) < 0 ||
	    cards_find(cmd, &status->survey, &status->rows, &status->nrows, err) < 0)
		return -err->code;
	status->facts = survey_facts(&status->survey);
	status->vgpus = calloc(inv->ndevices + leases->n + 1, sizeof(*status->vgpus));
	if (!status->vgpus)
		return err_set(err, ENOMEM, "out of memory");
	for (size_t i = 0; i < leases->n; i++)
		add_vgpu(status, &leases->list[i].vgpu, &leases->list[i]);
	for (size_t i = 0; i < inv->ndevices; i++)
		if (!lease_find(leases, inv->devices[i].vgpu.id))
			add_vgpu(status, &inv->devices[i].vgpu, NULL);
	qsort(status->vgpus, status->nvgpus, sizeof(*status->vgpus), by_row);
	status->names = udev_names_open();
	status->check = (struct check){ .host = &cmd->host,
					.config_path = cmd->call->args.config,
					.simulated = cmd->call->args.root != NULL };
	check_run(&status->check);
	if (gethostname(name, sizeof(name) - 1) < 0)
		text_copy(name, sizeof(name), "this host");
	text_safe(status->host, sizeof(status->host), cmd->call->args.root ? cmd->call->args.root : name);
	return 0;
}

size_t status_vgpus_of(const struct status *status, size_t row, size_t *first)
{
	size_t n = 0;

	for (size_t i = status->nvgpus; i-- > 0;) {
		if (status->vgpus[i].row != (int)row)
			continue;
		*first = i;
		n++;
	}
	return n;
}

static void json_vgpus(struct json_out *json, const struct status *status, size_t row)
{
	size_t first = 0, n = status_vgpus_of(status, row, &first);

	json_out_array(json, "vgpus");
	for (const struct status_vgpu *v = status->vgpus + first; v < status->vgpus + first + n; v++) {
		json_out_object(json, NULL);
		out_json_vgpu(json, v->ref);
		if (v->lease) {
			out_json_lease_row(json, v->lease);
		} else {
			json_out_known(json, "framebuffer_mib", v->mib);
			out_json_lease(json, NULL);
		}
		json_out_close(json);
	}
	json_out_close(json);
}

static void print_json(const struct status *status)
{
	struct json_out json;

	cmd_json_begin(&json, status->cmd);
	json_out_string(&json, "host", status->host);
	json_out_text(&json, "nvidia_driver", status->survey.inv.nvidia_driver);
	json_out_array(&json, "problems");
	for (size_t i = 0; i < status->check.n; i++)
		if (status->check.findings[i].status != CHECK_PASS)
			out_json_finding(&json, &status->check.findings[i]);
	json_out_close(&json);
	json_out_array(&json, "pgpus");
	for (size_t row = 0; row < status->nrows; row++) {
		const struct card_row *card = &status->rows[row];
		struct capacity_framebuffer mib = { UNKNOWN, UNKNOWN };

		if (card->pgpu != UNKNOWN)
			mib = capacity_framebuffer(&status->facts, card->pgpu);
		json_out_object(&json, NULL);
		cards_json(&json, &status->survey, card,
			   udev_names_find(status->names, card->card.vendor, card->card.device));
		json_out_known(&json, "framebuffer_mib", mib.whole);
		json_out_known(&json, "framebuffer_used_mib", mib.used);
		json_vgpus(&json, status, row);
		json_out_close(&json);
	}
	json_out_close(&json);
	/* Of pGPUs that the host no longer has. */
	json_vgpus(&json, status, status->nrows);
	json_out_end(&json);
}

static int run(struct cmd *cmd, struct err *err)
{
	struct status status = { .cmd = cmd };
	int r = gather(&status, cmd, err);

	if (r == 0 && cmd->call->json)
		print_json(&status);
	else if (r == 0)
		status_print(&status, term_stdout());
	check_free(&status.check);
	udev_names_close(status.names);
	free(status.vgpus);
	free(status.rows);
	survey_end(&status.survey);
	return r;
}

const struct command cmd_status = {
	.name = "status",
	.options = CMD_JSON | CMD_PGPU,
	.summary = "Show the host at a glance (the default)",
	.help = "Print a tree of the host: problems that 'vgpu-lease check' finds, the pGPUs with\n"
		"the framebuffer and the instances in use, and their vGPUs with guest, type,\n"
		"framebuffer, state, time since the lease entered this state, and ID. A narrow\n"
		"terminal omits the ID. The exit status is 0 also if there are problems.\n",
	.needs = CMD_CONFIG_OWN,
	.check = cmd_check_filters,
	.run = run,
};
