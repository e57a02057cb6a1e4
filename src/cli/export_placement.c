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

static void print_traits(struct rows *rows, const struct nova_provider *provider)
{
	char traits[NOVA_TRAITS][TRAIT_SIZE];

	nova_traits(traits, provider);
	autofree char *list = mem_format("%s,%s%s%s%s%s", traits[0], traits[3], *traits[1] ? "," : "", traits[1],
					 *traits[2] ? "," : "", traits[2]);
	table_text(&rows->table, COL_TRAITS, list);
	json_out_array(rows->json, "traits");
	for (int t = 0; t < NOVA_TRAITS; t++)
		if (*traits[t])
			json_out_string(rows->json, NULL, traits[t]);
	json_out_close(rows->json);
}

void export_placement(const struct cmd *cmd, const struct export *export)
{
	struct rows rows;

	cmd_rows_begin(&rows, cmd, &export_placement_layout);
	json_out_array(rows.json, "providers");
	for (size_t i = 0; i < export->nova->n; i++) {
		const struct nova_provider *p = &export->nova->providers[i];
		char name[PROVIDER_SIZE], note[NOTE_SIZE];

		note_of(note, p);
		row_begin(&rows);
		row_text(&rows, COL_PROVIDER, "name", export_provider(name, export, p));
		json_out_string(rows.json, "parent", p->parent->name);
		row_text(&rows, COL_TYPE, "type", p->section->type);
		row_text(&rows, COL_CLASS, "class", p->section->class);
		table_number(&rows.table, COL_USED, p->existing + p->defined);
		json_out_number(rows.json, "existing", p->existing);
		json_out_number(rows.json, "defined", p->defined);
		row_number(&rows, COL_AVAILABLE, "available", p->available);
		row_number(&rows, COL_TOTAL, "total", p->total);
		print_traits(&rows, p);
		row_text(&rows, COL_NOTE, "note", note);
		row_end(&rows);
	}
	json_out_close(rows.json);
	cmd_rows_end(&rows);
}
