/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The pGPUs of a host and their vGPUs, gathered, and as JSON. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cli/domains.h"
#include "cli/status.h"

size_t status_row(const struct status *status, const struct status_vgpu *v)
{
	size_t row = 0;

	while (row < status->nrows && strcmp(status->rows[row].card.address, v->ref->pgpu) != 0)
		row++;
	return row;
}

size_t status_count(const struct status *status, size_t row)
{
	size_t n = 0;

	for (size_t i = 0; i < status->nvgpus; i++)
		n += status_row(status, &status->vgpus[i]) == row;
	return n;
}

static void add_vgpu(struct status *status, const struct vgpu_ref *ref, const struct lease *lease)
{
	const struct inv_type *type = inventory_type_of(&status->world.inv, ref);

	status->nall++;
	if (!cmd_shows(status->cmd->call, ref, lease))
		return;
	status->vgpus[status->nvgpus++] = (struct status_vgpu){
		.ref = ref,
		.lease = lease,
		.mib = type    ? type->framebuffer_mib
		       : lease ? lease->framebuffer_mib
			       : UNKNOWN,
	};
}

static int by_id(const void *a, const void *b)
{
	return strcmp(((const struct status_vgpu *)a)->ref->id, ((const struct status_vgpu *)b)->ref->id);
}

/* Of the pGPUs, those with a vGPU that is shown are of interest, or those that a type is asked of. */
static bool is_shown(const struct status *status, size_t row)
{
	const struct cmd_call *call = status->cmd->call;

	if ((!call->domain && !call->state && !call->type) || status_count(status, row))
		return true;
	return !call->domain && !call->state && cards_serve(&status->world, &status->rows[row], call->type);
}

int status_read(struct status *status, struct cmd *cmd, struct err *err)
{
	const struct inventory *inv = &status->world.inv;
	const struct leases *leases = &status->world.leases;
	size_t kept = 0;

	status->cmd = cmd;
	if (cmd_survey(cmd, &status->world, err) < 0 || domains_check(cmd, err) < 0 || cmd_check_type(cmd, err) < 0 ||
	    cards_find(cmd, &status->world, &status->rows, &status->nrows, err) < 0)
		return -err->code;
	status->vgpus = mem_new(inv->ndevices + leases->n + 1, sizeof(*status->vgpus));
	for (size_t i = 0; i < leases->n; i++)
		add_vgpu(status, &leases->list[i].vgpu, &leases->list[i]);
	for (size_t i = 0; i < inv->ndevices; i++)
		if (!lease_find(leases, inv->devices[i].vgpu.id))
			add_vgpu(status, &inv->devices[i].vgpu, NULL);
	qsort(status->vgpus, status->nvgpus, sizeof(*status->vgpus), by_id);
	for (size_t row = 0; row < status->nrows; row++)
		if (is_shown(status, row))
			status->rows[kept++] = status->rows[row];
	status->nrows = kept;
	return 0;
}

void status_json_vgpus(struct json_out *json, const struct status *status, size_t row)
{
	struct rows rows = { .json = json };

	json_out_array(json, "vgpus");
	for (const struct status_vgpu *v = status->vgpus; v < status->vgpus + status->nvgpus; v++) {
		if (status_row(status, v) != row)
			continue;
		row_begin(&rows);
		row_vgpu(&rows, v->ref);
		row_whole_lease(&rows, v->lease, v->mib);
		row_end(&rows);
	}
	json_out_close(json);
}

void status_json_pgpu(struct json_out *json, const struct status *status, size_t row)
{
	const struct card_row *card = &status->rows[row];
	struct capacity_framebuffer mib = { UNKNOWN, UNKNOWN };
	struct rows rows = { .json = json };

	if (card->pgpu)
		mib = capacity_framebuffer(&status->world, card->pgpu);
	json_out_object(json, NULL);
	cards_fields(&rows, &status->world, card);
	json_out_known(json, "framebuffer_mib", mib.whole);
	json_out_known(json, "framebuffer_used_mib", mib.used);
	status_json_vgpus(json, status, row);
	json_out_close(json);
}

void status_end(struct status *status)
{
	free(status->vgpus);
	free(status->rows);
	survey_end(&status->world);
}
