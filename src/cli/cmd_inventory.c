/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* vgpu-lease inventory: the host's pGPUs, what each serves, and why one does not. */
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "cli/cmd.h"
#include "base/udev.h"
#include "plan/capacity.h"
#include "cli/table.h"

static void print_offers(const struct survey *survey, size_t pgpu, struct json_out *json)
{
	const struct inv_pgpu *card = &survey->inv.pgpus[pgpu];
	struct plan_facts facts = survey_facts(survey);

	json_out_array(json, "types");
	for (size_t i = 0; i < card->noffers; i++) {
		const struct inv_type *type = &survey->inv.types[card->offers[i].type];
		const struct section *section = config_section(survey->config, type->id);
		struct capacity_count count;

		capacity_count(&count, &facts, (int)pgpu, &card->offers[i]);
		json_out_object(json, NULL);
		cmd_json_type(json, type, section && section->enabled ? section->class : NULL);
		json_out_number(json, "capacity", count.capacity);
		json_out_number(json, "used", count.used);
		json_out_number(json, "available", count.available);
		json_out_bool(json, "configured", pool_serves(&survey->pool, (int)pgpu, type->id));
		json_out_close(json);
	}
	json_out_close(json);
}

/* Why the pGPU is not in the pool, or can make none of what it serves now; "" where it can. */
static void reason_of(const struct cmd *cmd, const struct survey *survey, size_t pgpu, char reason[REASON_SIZE])
{
	const struct section *serves = survey->pool.cards[pgpu].section;
	const struct inv_offer *offer = serves ? inventory_offer(&survey->inv, (int)pgpu, serves->type) : NULL;
	const char *why = cmd_why_not(cmd, survey, pgpu);
	struct plan_facts facts = survey_facts(survey);
	struct capacity_count count = { .reason = "" };

	if (!why && offer)
		capacity_count(&count, &facts, (int)pgpu, offer);
	snprintf(reason, REASON_SIZE, "%s", why ? why : count.reason);
}

static void print_card(const struct cmd *cmd, const struct survey *survey, size_t pgpu, const struct udev_names *names,
		       struct json_out *json)
{
	const struct inv_pgpu *card = &survey->inv.pgpus[pgpu];
	char reason[REASON_SIZE];

	reason_of(cmd, survey, pgpu, reason);
	json_out_object(json, NULL);
	json_out_string(json, "address", card->address);
	json_out_string(json, "framework", framework_word(card->framework));
	json_out_text(json, "vendor", card->vendor);
	json_out_text(json, "device", card->device);
	json_out_string(json, "model", udev_names_find(names, card->vendor, card->device));
	json_out_known(json, "numa_node", card->numa);
	json_out_number(json, "vfs", card->nvfs);
	json_out_bool(json, "in_pool", survey->pool.cards[pgpu].in_pool);
	json_out_bool(json, "ready", card->ready);
	json_out_text(json, "reason", reason);
	print_offers(survey, pgpu, json);
	json_out_close(json);
}

/* A card that the configuration names, and that the host does not have as a parent. */
static void print_missing(const struct section *section, const char *address, const char *reason, struct json_out *json)
{
	static const char *const unknown[] = { "vendor", "device", "model", "numa_node" };

	json_out_object(json, NULL);
	json_out_string(json, "address", address);
	json_out_string(json, "framework", framework_word(section->vf ? FW_VF : FW_MDEV));
	for (size_t i = 0; i < ARRAY_SIZE(unknown); i++)
		json_out_string(json, unknown[i], NULL);
	json_out_number(json, "vfs", 0);
	json_out_bool(json, "in_pool", false);
	json_out_bool(json, "ready", false);
	json_out_string(json, "reason", reason);
	json_out_array(json, "types");
	json_out_close(json);
	json_out_close(json);
}

static void row_missing(const struct section *section, const char *address, const char *reason, struct table *table)
{
	table_add(table, address);
	for (int i = 0; i < 3; i++)
		table_add(table, "");
	table_add(table, section->type);
	for (int i = 0; i < 3; i++)
		table_add(table, "");
	table_add(table, reason);
}

/* Those of them that there are, to `json` or `table`. */
static void each_missing(const struct survey *survey, struct json_out *json, struct table *table)
{
	for (size_t i = 0; i < survey->config->nsections; i++) {
		const struct section *section = &survey->config->sections[i];

		for (size_t a = 0; section->enabled && a < section->naddresses; a++) {
			char reason[REASON_SIZE];

			if (!pool_misses(&survey->pool, section, section->addresses[a]))
				continue;
			inventory_explain_card(survey->host, section->addresses[a], section->vf, reason);
			if (json)
				print_missing(section, section->addresses[a], reason, json);
			else
				row_missing(section, section->addresses[a], reason, table);
		}
	}
}

static void print_json(const struct cmd *cmd, const struct survey *survey, const struct udev_names *names)
{
	struct json_out json;

	cmd_json_begin(&json, cmd);
	json_out_object(&json, "driver");
	if (*survey->inv.nvidia_driver)
		json_out_string(&json, "nvidia", survey->inv.nvidia_driver);
	json_out_close(&json);
	json_out_array(&json, "pgpus");
	for (size_t i = 0; i < survey->inv.npgpus; i++)
		print_card(cmd, survey, i, names, &json);
	each_missing(survey, &json, NULL);
	json_out_close(&json);
	json_out_end(&json);
}

static void row_card(const struct cmd *cmd, const struct survey *survey, size_t pgpu, const struct udev_names *names,
		     struct table *table)
{
	const struct inv_pgpu *card = &survey->inv.pgpus[pgpu];
	const struct section *serves = survey->pool.cards[pgpu].section;
	const struct inv_offer *offer = serves ? inventory_offer(&survey->inv, (int)pgpu, serves->type) : NULL;
	const char *model = udev_names_find(names, card->vendor, card->device);
	struct plan_facts facts = survey_facts(survey);
	struct capacity_count count = { .capacity = UNKNOWN, .used = UNKNOWN, .available = UNKNOWN };
	char reason[REASON_SIZE];

	reason_of(cmd, survey, pgpu, reason);
	if (offer)
		capacity_count(&count, &facts, (int)pgpu, offer);
	table_add(table, card->address);
	if (model)
		table_add(table, model);
	else
		table_addf(table, "%s%s%s", card->vendor, *card->vendor ? ":" : "", card->device);
	table_number(table, card->numa);
	table_number(table, card->nvfs);
	table_add(table, serves ? serves->type : "");
	table_number(table, count.capacity);
	table_number(table, count.used);
	table_number(table, count.available);
	table_add(table, reason);
}

static void print_table(const struct cmd *cmd, const struct survey *survey, const struct udev_names *names)
{
	static const char *const heading[] = { "PGPU",     "MODEL", "NUMA",      "VFS",    "TYPE",
					       "CAPACITY", "USED",  "AVAILABLE", "REASON", NULL };
	struct table table;

	table_start(&table, heading);
	for (size_t i = 0; i < survey->inv.npgpus; i++)
		row_card(cmd, survey, i, names, &table);
	each_missing(survey, NULL, &table);
	table_end(&table, stdout);
}

static int inventory(struct cmd *cmd, struct err *err)
{
	struct udev_names *names;
	struct survey survey = { 0 };
	int r = cmd_survey(cmd, &survey, err);

	if (r == 0) {
		names = udev_names_open();
		if (cmd->call->json)
			print_json(cmd, &survey, names);
		else
			print_table(cmd, &survey, names);
		udev_names_close(names);
	}
	survey_end(&survey);
	return r;
}

const struct command cmd_inventory = {
	.name = "inventory",
	.options = CMD_JSON,
	.summary = "shows the host's pGPUs, what each serves, and why one does not",
	.help = "TYPE is what the configuration has the pGPU serve, or the first of several; CAPACITY, USED and AVAILABLE are of\n"
		"that type (--json has all types). REASON is why it is not in the pool, or can make none now. A pGPU that the configuration names and the host lacks is shown, too.\n",
	.show = inventory,
};
