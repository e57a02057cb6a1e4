/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* vgpu-lease inventory: the host's pGPUs, what each serves, and why one does not. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/udev.h"
#include "cli/cmd.h"
#include "cli/table.h"
#include "survey/missing_cards.h"

/* A pGPU as it is shown. */
struct row {
	struct inv_pgpu card;
	int pgpu; /* UNKNOWN: one that the configuration means, and that makes no vGPUs here */
	bool in_pool;
	const char *type;            /* the type that it is configured for, the first of several; "" */
	struct capacity_count count; /* of that type */
	char reason[REASON_SIZE];    /* it is not in the pool, or has none available */
};

static struct row row_of_card(const struct cmd *cmd, const struct survey *survey, size_t pgpu)
{
	const struct inv_pgpu *card = &survey->inv.pgpus[pgpu];
	const struct pool_card *pooled = &survey->pool.cards[pgpu];
	const struct plan_facts facts = survey_facts(survey);
	struct row row = { .card = *card,
			   .pgpu = (int)pgpu,
			   .in_pool = pooled->in_pool,
			   .type = pooled->section ? pooled->section->type : "",
			   .count = { .capacity = UNKNOWN, .used = UNKNOWN, .available = UNKNOWN } };
	const struct inv_offer *offer = inventory_offer(&survey->inv, (int)pgpu, row.type);
	const char *reason = row.count.reason;

	if (offer)
		capacity_count(&row.count, &facts, (int)pgpu, offer);
	if (!pooled->in_pool)
		reason = !card->ready ? card->reason : cmd->has_config ? pooled->reason : cmd->why_no_config;
	snprintf(row.reason, sizeof(row.reason), "%.*s", (int)sizeof(row.reason) - 1, reason);
	return row;
}

static struct row row_of_missing(const struct survey *survey, const struct missing_card *missing)
{
	struct row row = { .pgpu = UNKNOWN,
			   .type = missing->section->type,
			   .count = { .capacity = UNKNOWN, .used = UNKNOWN, .available = UNKNOWN } };

	inventory_card(survey->host, missing->address, &row.card);
	row.card.framework = missing->section->vf ? FW_VF : FW_MDEV;
	memcpy(row.card.address, missing->address, sizeof(row.card.address));
	memcpy(row.reason, missing->reason, sizeof(row.reason));
	return row;
}

/*
 * The cards of the host, then those that are absent: as often as the configuration names one, else once. The caller
 * frees the list.
 */
static int find_rows(const struct cmd *cmd, const struct survey *survey, struct row **rows, size_t *n, struct err *err)
{
	autofree struct missing_card *missing = NULL;
	size_t nmissing, seen;

	if (missing_cards(&missing, &nmissing, survey->host, &survey->pool, err) < 0)
		return -err->code;
	*rows = calloc(survey->inv.npgpus + nmissing + 1, sizeof(**rows));
	if (!*rows)
		return err_set(err, ENOMEM, "out of memory");
	for (*n = 0; *n < survey->inv.npgpus; ++*n)
		(*rows)[*n] = row_of_card(cmd, survey, *n);
	for (size_t i = 0; i < nmissing; i++) {
		for (seen = 0; seen < *n; seen++)
			if (strcmp((*rows)[seen].card.address, missing[i].address) == 0)
				break;
		if (seen == *n || missing[i].how == MISSING_NAMED)
			(*rows)[(*n)++] = row_of_missing(survey, &missing[i]);
	}
	return 0;
}

static void json_offers(struct json_out *json, const struct survey *survey, const struct row *row)
{
	const struct plan_facts facts = survey_facts(survey);

	json_out_array(json, "types");
	for (size_t i = 0; row->pgpu != UNKNOWN && i < row->card.noffers; i++) {
		const struct inv_type *type = &survey->inv.types[row->card.offers[i].type];
		struct capacity_count count;

		capacity_count(&count, &facts, row->pgpu, &row->card.offers[i]);
		json_out_object(json, NULL);
		out_json_type(json, type, survey->config);
		out_json_count(json, &count);
		json_out_bool(json, "configured", pool_serves(&survey->pool, row->pgpu, type->id));
		json_out_close(json);
	}
	json_out_close(json);
}

static void json_row(struct json_out *json, const struct survey *survey, const struct row *row, const char *model)
{
	json_out_object(json, NULL);
	json_out_string(json, "address", row->card.address);
	json_out_string(json, "framework", framework_word(row->card.framework));
	json_out_text(json, "vendor", row->card.vendor);
	json_out_text(json, "device", row->card.device);
	json_out_string(json, "model", model);
	json_out_known(json, "numa_node", row->card.numa);
	json_out_number(json, "vfs", row->card.nvfs);
	json_out_text(json, "type", row->type);
	json_out_bool(json, "in_pool", row->in_pool);
	json_out_bool(json, "ready", row->card.ready);
	json_out_text(json, "reason", row->reason);
	json_offers(json, survey, row);
	json_out_close(json);
}

static void table_card(struct table *table, const struct row *row, const char *model)
{
	const struct inv_pgpu *card = &row->card;

	table_row(table, card->address);
	if (model)
		table_row(table, model);
	else
		table_addf(table, "%s%s%s", card->vendor, *card->vendor ? ":" : "", card->device);
	table_number(table, card->numa);
	table_number(table, row->pgpu == UNKNOWN ? UNKNOWN : card->nvfs);
	table_row(table, row->type);
	out_table_count(table, &row->count);
	table_row(table, row->reason);
}

static void print(const struct cmd *cmd, const struct survey *survey, const struct row *rows, size_t n)
{
	struct udev_names *names = udev_names_open();
	struct json_out json;
	struct table table;

	if (cmd->call->json) {
		cmd_json_begin(&json, cmd);
		json_out_object(&json, "driver");
		if (*survey->inv.nvidia_driver)
			json_out_string(&json, "nvidia", survey->inv.nvidia_driver);
		json_out_close(&json);
		json_out_array(&json, "pgpus");
	} else {
		table_start(&table, "PGPU", "MODEL", "NUMA", "VFS", "TYPE", "CAPACITY", "USED", "AVAILABLE", "REASON");
	}
	for (const struct row *row = rows; row < rows + n; row++) {
		const char *model = udev_names_find(names, row->card.vendor, row->card.device);

		if (cmd->call->json)
			json_row(&json, survey, row, model);
		else
			table_card(&table, row, model);
	}
	if (cmd->call->json) {
		json_out_close(&json);
		json_out_end(&json);
	} else {
		table_end(&table, stdout);
	}
	udev_names_close(names);
}

static int run(struct cmd *cmd, struct err *err)
{
	struct survey survey = { 0 };
	autofree struct row *rows = NULL;
	size_t n = 0;
	int r = cmd_survey(cmd, &survey, err);

	if (r == 0)
		r = find_rows(cmd, &survey, &rows, &n, err);
	if (r == 0)
		print(cmd, &survey, rows, n);
	survey_end(&survey);
	return r;
}

const struct command cmd_inventory = {
	.name = "inventory",
	.options = CMD_JSON,
	.summary = "List physical GPUs, their types and any problems",
	.help = "TYPE is the configured type, or the first of several. CAPACITY, USED and\n"
		"AVAILABLE are the numbers of this type; --json has all types. REASON is why the\n"
		"pGPU is not in the pool, or has none available. pGPUs that the configuration\n"
		"names or matches and that provide no vGPUs are listed as well.\n",
	.run = run,
};
