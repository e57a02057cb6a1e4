/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* vgpu-lease types: what kinds of vGPU this host's pGPUs can make. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "cli/cmd.h"
#include "plan/capacity.h"
#include "cli/table.h"

/* What one card makes of a type. */
struct maker {
	size_t pgpu;
	bool pooled; /* the card serves the type */
	struct capacity_count count;
};

/* A type on all the cards that offer it; what it is, is told by the first of them. */
struct kind {
	const struct inv_type *type;
	struct maker *makers;
	size_t nmakers;
	struct capacity_count pool, host; /* of those cards that serve it, and of all */
};

static void add(struct capacity_count *sum, const struct capacity_count *count)
{
	sum->capacity += count->capacity;
	sum->used += count->used;
	sum->available += count->available;
}

static void add_maker(struct kind *kind, size_t pgpu, bool pooled, const struct capacity_count *count)
{
	kind->makers = reallocarray(kind->makers, kind->nmakers + 1, sizeof(*kind->makers));
	if (!kind->makers)
		abort();
	kind->makers[kind->nmakers++] = (struct maker){ pgpu, pooled, *count };
	add(&kind->host, count);
	if (pooled)
		add(&kind->pool, count);
}

/* In the order in which the cards offer them. The caller frees the list and each one's makers. */
static struct kind *find_kinds(const struct survey *survey, size_t *n)
{
	const struct inventory *inv = &survey->inv;
	struct plan_facts facts = survey_facts(survey);
	struct kind *kinds = calloc(inv->ntypes + 1, sizeof(*kinds));

	if (!kinds)
		abort();
	*n = 0;
	for (size_t i = 0; i < inv->npgpus; i++) {
		for (size_t o = 0; o < inv->pgpus[i].noffers; o++) {
			const struct inv_offer *offer = &inv->pgpus[i].offers[o];
			const struct inv_type *type = &inv->types[offer->type];
			struct capacity_count count;
			size_t k = 0;

			while (k < *n && strcmp(kinds[k].type->id, type->id) != 0)
				k++;
			if (k == *n)
				kinds[(*n)++].type = type;
			capacity_count(&count, &facts, (int)i, offer);
			add_maker(&kinds[k], i,
				  survey->pool.cards[i].in_pool && pool_serves(&survey->pool, (int)i, type->id),
				  &count);
		}
	}
	return kinds;
}

static void print_count(struct json_out *json, const struct capacity_count *count)
{
	json_out_number(json, "capacity", count->capacity);
	json_out_number(json, "used", count->used);
	json_out_number(json, "available", count->available);
}

static const char *class_of(const struct survey *survey, const struct inv_type *type)
{
	const struct section *section = config_section(survey->config, type->id);

	return section && section->enabled ? section->class : NULL;
}

static void print_json(const struct cmd *cmd, const struct survey *survey, const struct kind *kinds, size_t n)
{
	struct json_out json;

	cmd_json_begin(&json, cmd);
	json_out_array(&json, "types");
	for (size_t i = 0; i < n; i++) {
		const struct kind *kind = &kinds[i];

		json_out_object(&json, NULL);
		cmd_json_type(&json, kind->type, class_of(survey, kind->type));
		json_out_string(&json, "framework", framework_word(survey->inv.pgpus[kind->makers[0].pgpu].framework));
		print_count(&json, &kind->pool);
		json_out_object(&json, "host");
		print_count(&json, &kind->host);
		json_out_close(&json);
		json_out_array(&json, "pgpus");
		for (size_t m = 0; m < kind->nmakers; m++) {
			json_out_object(&json, NULL);
			json_out_string(&json, "address", survey->inv.pgpus[kind->makers[m].pgpu].address);
			json_out_bool(&json, "in_pool", kind->makers[m].pooled);
			print_count(&json, &kind->makers[m].count);
			json_out_close(&json);
		}
		json_out_close(&json);
		json_out_close(&json);
	}
	json_out_close(&json);
	json_out_end(&json);
}

/* "0000:84:00.0*, 0000:85:00.0": the star is on those that the configuration has serve the type. */
static void add_makers(struct table *table, const struct survey *survey, const struct kind *kind)
{
	char *list = NULL;
	size_t size;
	FILE *to = open_memstream(&list, &size);

	if (!to)
		abort();
	for (size_t m = 0; m < kind->nmakers; m++)
		fprintf(to, "%s%s%s", m ? ", " : "", survey->inv.pgpus[kind->makers[m].pgpu].address,
			kind->makers[m].pooled ? "*" : "");
	fclose(to);
	table_add(table, list);
	free(list);
}

static void print_table(const struct survey *survey, const struct kind *kinds, size_t n)
{
	static const char *const heading[] = { "TYPE",     "NAME", "CLASS",     "MIB",  "HEADS", "RESOLUTION",
					       "CAPACITY", "USED", "AVAILABLE", "HOST", "PGPUS", NULL };
	struct table table;

	table_start(&table, heading);
	for (size_t i = 0; i < n; i++) {
		const struct kind *kind = &kinds[i];
		const char *class = class_of(survey, kind->type);

		table_add(&table, kind->type->id);
		table_add(&table, kind->type->name);
		table_add(&table, class ? class : "");
		table_number(&table, kind->type->framebuffer_mib);
		table_number(&table, kind->type->heads);
		table_add(&table, kind->type->resolution);
		table_number(&table, kind->pool.capacity);
		table_number(&table, kind->pool.used);
		table_number(&table, kind->pool.available);
		table_number(&table, kind->host.available);
		add_makers(&table, survey, kind);
	}
	table_end(&table, stdout);
}

static int types(struct cmd *cmd, struct err *err)
{
	struct survey survey = { 0 };
	int r = cmd_survey(cmd, &survey, err);
	size_t n = 0;

	if (r == 0) {
		struct kind *kinds = find_kinds(&survey, &n);

		if (cmd->call->json)
			print_json(cmd, &survey, kinds, n);
		else
			print_table(&survey, kinds, n);
		for (size_t i = 0; i < n; i++)
			free(kinds[i].makers);
		free(kinds);
	}
	survey_end(&survey);
	return r;
}

const struct command cmd_types = {
	.name = "types",
	.options = CMD_JSON,
	.summary = "shows the types of vGPU that this host's pGPUs can make",
	.help = "CAPACITY, USED and AVAILABLE count the pGPUs that are configured for the type, marked with a star; HOST is what\n"
		"all pGPUs of the host could make now. CLASS is shown for enabled types. A pGPU makes one type or the other: the\n"
		"numbers of two types of one pGPU do not add up.\n",
	.show = types,
};
