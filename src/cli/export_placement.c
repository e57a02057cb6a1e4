/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What nova-compute counts on this host, one resource provider a line. */
#include <stdlib.h>

#include "base/auto.h"
#include "base/mem.h"
#include "cli/export.h"

enum { NOTE_SIZE = 160 };

const struct table_layout export_placement_layout = {
	.columns = { COL_PROVIDER, COL_TYPE, COL_CLASS, COL_USED, COL_AVAILABLE, COL_TOTAL, COL_NOTE },
	.more = { COL_TRAITS },
	.narrow = { COL_CLASS, COL_AVAILABLE, COL_USED },
};

/* What there is to say of a provider; "" nothing. */
static void note_of(char note[NOTE_SIZE], const struct nova_provider *p)
{
	note[0] = '\0';
	if (p->limited)
		snprintf(note, NOTE_SIZE, "max_instances = %d is below the capacity, so Nova offers none",
			 p->section->max_instances);
	else if (*p->twice)
		snprintf(note, NOTE_SIZE, "%s is defined for two parents; see 'vgpu-lease check'", p->twice);
	else if (p->defined)
		snprintf(note, NOTE_SIZE, "%d of them only defined; see 'vgpu-lease check'", p->defined);
}

/* "A,B": the caller frees it. */
static char *traits_of(const struct nova_provider *provider)
{
	char traits[NOVA_TRAITS][TRAIT_SIZE];

	nova_traits(traits, provider);
	return mem_format("%s,%s%s%s%s%s", traits[0], traits[3], *traits[1] ? "," : "", traits[1],
			  *traits[2] ? "," : "", traits[2]);
}

static void print_json(const struct cmd *cmd, const struct export *export)
{
	struct json_out json;

	cmd_json_begin(&json, cmd);
	json_out_array(&json, "providers");
	for (size_t i = 0; i < export->nova->n; i++) {
		const struct nova_provider *p = &export->nova->providers[i];
		char name[PROVIDER_SIZE], note[NOTE_SIZE], traits[NOVA_TRAITS][TRAIT_SIZE];

		note_of(note, p);
		nova_traits(traits, p);
		json_out_object(&json, NULL);
		json_out_string(&json, "name", export_provider(name, export, p));
		json_out_string(&json, "parent", p->parent->name);
		json_out_string(&json, "type", p->section->type);
		json_out_string(&json, "class", p->section->class);
		json_out_number(&json, "existing", p->existing);
		json_out_number(&json, "defined", p->defined);
		json_out_number(&json, "available", p->available);
		json_out_number(&json, "total", p->total);
		json_out_array(&json, "traits");
		for (int t = 0; t < NOVA_TRAITS; t++)
			if (*traits[t])
				json_out_string(&json, NULL, traits[t]);
		json_out_close(&json);
		json_out_text(&json, "note", note);
		json_out_close(&json);
	}
	json_out_close(&json);
	json_out_end(&json);
}

static void print_table(const struct cmd *cmd, const struct export *export)
{
	struct table table;

	table_start(&table, &export_placement_layout, &cmd->call->table);
	for (size_t i = 0; i < export->nova->n; i++) {
		const struct nova_provider *p = &export->nova->providers[i];
		char name[PROVIDER_SIZE], note[NOTE_SIZE];
		autofree char *traits = traits_of(p);

		note_of(note, p);
		table_row(&table, export_provider(name, export, p), p->section->type, p->section->class);
		table_number(&table, p->existing + p->defined);
		table_number(&table, p->available);
		table_number(&table, p->total);
		table_row(&table, note, traits);
	}
	table_end(&table, stdout, term_stdout());
}

void export_placement(const struct cmd *cmd, const struct export *export)
{
	if (cmd->call->json)
		print_json(cmd, export);
	else
		print_table(cmd, export);
}
