/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What Placement should have of this host, beside what it has: files of `openstack resource provider inventory list
 * -f json`, DIRECTORY/PROVIDER.json.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/export.h"

enum { JSON_MAX = 1 << 15, INVENTORY_MAX = 1024, NOTE_SIZE = 160 };

const struct table_layout export_placement_layout = {
	.columns = { COL_PROVIDER, COL_TYPE, COL_CLASS, COL_USED, COL_AVAILABLE, COL_TOTAL, COL_PLACEMENT, COL_NOTE },
	.more = { COL_TRAITS },
	.narrow = { COL_CLASS, COL_AVAILABLE, COL_USED },
	.if_any = COL_PLACEMENT,
};

/* The total of this class in a list of inventories: 0 it is not in it; negative: no such list. */
static int total_of(const char *text, const char *class, const char *path, struct err *err)
{
	char inventory[INVENTORY_MAX], name[CLASS_SIZE] = "", total[32] = "";
	struct json_field fields[] = { { .key = "resource_class", .value = name, .size = sizeof(name) },
				       { .key = "total", .value = total, .size = sizeof(total), .raw = true } };
	const char *wrong;
	size_t at = 0;
	long n;
	int r;

	for (size_t i = 1; (r = json_next(text, &at, inventory, sizeof(inventory))) == 1; i++) {
		wrong = json_read(inventory, strlen(inventory), fields, ARRAY_SIZE(fields));
		if (wrong)
			return err_set(err, EINVAL, "%s: inventory %zu: %s", path, i, wrong);
		if (strcmp(name, class) != 0)
			continue;
		if (!text_number(total, 0, INT32_MAX, &n))
			return err_set(err, EINVAL, "%s: inventory %zu: invalid total '%s'", path, i, total);
		return (int)n;
	}
	return r == 0 ? 0 : err_set(err, EINVAL, "%s: not a JSON list of inventories", path);
}

/* What Placement has of a provider; UNKNOWN: no such provider. */
static int read_total(int *out, const char *directory, const char *provider, const char *class, struct err *err)
{
	autofree char *path = mem_format("%s/%s.json", directory, provider), *text = NULL;
	size_t len;
	int r;

	*out = UNKNOWN;
	autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? 0 : err_sys(err, errno, "%s", path);
	r = file_slurp(fd, JSON_MAX, &text, &len);
	if (r < 0)
		return err_sys(err, -r, "%s", path);
	*out = total_of(text, class, path, err);
	return *out < 0 ? -err->code : 0;
}

/* What there is to say of a provider; "" nothing. */
static void note_of(char note[NOTE_SIZE], const struct nova_provider *p, const char *directory, int placement)
{
	int has = placement == UNKNOWN ? 0 : placement;

	note[0] = '\0';
	if (p->limited)
		snprintf(note, NOTE_SIZE, "max_instances = %d is below the capacity: Nova offers none",
			 p->section->max_instances);
	else if (directory && has > p->total)
		snprintf(note, NOTE_SIZE, "Placement has %d too many: restart nova-compute", has - p->total);
	else if (directory && has < p->total)
		snprintf(note, NOTE_SIZE, "Placement has %d too few: restart nova-compute", p->total - has);
	else if (p->defined)
		snprintf(note, NOTE_SIZE, "%d of them only defined: see 'vgpu-lease check'", p->defined);
}

/* "A,B": the caller frees it. */
static char *traits_of(const struct export *export, const struct nova_provider *provider)
{
	char traits[NOVA_TRAITS][TRAIT_SIZE];

	nova_traits(traits, &export->survey->pool, provider);
	return mem_format("%s,%s%s%s%s%s", traits[0], traits[3], *traits[1] ? "," : "", traits[1],
			  *traits[2] ? "," : "", traits[2]);
}

static void print_json(const struct cmd *cmd, const struct export *export, const int *placement, const char *directory)
{
	struct json_out json;

	cmd_json_begin(&json, cmd);
	json_out_array(&json, "providers");
	for (size_t i = 0; i < export->nova->n; i++) {
		const struct nova_provider *p = &export->nova->providers[i];
		char name[PROVIDER_SIZE], note[NOTE_SIZE], traits[NOVA_TRAITS][TRAIT_SIZE];

		note_of(note, p, directory, placement[i]);
		nova_traits(traits, &export->survey->pool, p);
		json_out_object(&json, NULL);
		json_out_string(&json, "name", export_provider(name, export, p));
		json_out_string(&json, "parent", export->survey->inv.parents[p->parent].name);
		json_out_string(&json, "type", p->section->type);
		json_out_string(&json, "class", p->section->class);
		json_out_number(&json, "existing", p->existing);
		json_out_number(&json, "defined", p->defined);
		json_out_number(&json, "available", p->available);
		json_out_number(&json, "total", p->total);
		json_out_known(&json, "placement", placement[i]);
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

static void print_table(const struct cmd *cmd, const struct export *export, const int *placement, const char *directory)
{
	struct table table;

	table_start(&table, &export_placement_layout, &cmd->call->table);
	for (size_t i = 0; i < export->nova->n; i++) {
		const struct nova_provider *p = &export->nova->providers[i];
		char name[PROVIDER_SIZE], note[NOTE_SIZE];
		autofree char *traits = traits_of(export, p);

		note_of(note, p, directory, placement[i]);
		table_row(&table, export_provider(name, export, p), p->section->type, p->section->class);
		table_number(&table, p->existing + p->defined);
		table_number(&table, p->available);
		table_number(&table, p->total);
		table_number(&table, placement[i]);
		table_row(&table, note, traits);
	}
	table_end(&table, stdout, term_stdout());
}

int export_placement(const struct cmd *cmd, const struct export *export, const char *directory, struct err *err)
{
	autofree int *placement = mem_new(export->nova->n + 1, sizeof(*placement));
	bool differs = false, any = false;

	autoclose int dir = directory ? open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
	if (directory && dir < 0)
		return err_sys(err, errno, "%s", directory);
	for (size_t i = 0; i < export->nova->n; i++) {
		const struct nova_provider *p = &export->nova->providers[i];
		char name[PROVIDER_SIZE];

		placement[i] = UNKNOWN;
		if (directory &&
		    read_total(&placement[i], directory, export_provider(name, export, p), p->section->class, err) < 0)
			return -err->code;
		any |= placement[i] != UNKNOWN;
		differs |= directory && (placement[i] == UNKNOWN ? 0 : placement[i]) != p->total;
	}
	if (differs && !any)
		return err_set(err, ENOENT, "%s: no file is of a provider of host '%s'; fetch them, or use --hostname",
			       directory, export->host);
	if (cmd->call->json)
		print_json(cmd, export, placement, directory);
	else
		print_table(cmd, export, placement, directory);
	return differs ? CMD_FAILED : CMD_DONE;
}
