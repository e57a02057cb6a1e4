/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What Placement should have of this host, beside what it has: files of `openstack resource provider inventory list
 * -f json`, DIRECTORY/PROVIDER.json.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"
#include "sys/sys.h"
#include "cli/export.h"

enum { JSON_MAX = 1 << 15, INVENTORY_MAX = 1024, NOTE_SIZE = 160 };

const struct table_layout export_placement_layout = {
	.columns = { COL_PROVIDER, COL_TYPE, COL_CLASS, COL_USED, COL_AVAILABLE, COL_TOTAL, COL_PLACEMENT, COL_NOTE },
	.more = { COL_TRAITS },
	.narrow = { COL_CLASS, COL_AVAILABLE, COL_USED },
	.if_any = COL_PLACEMENT,
};

/* A provider of a parent that this host does not have. */
struct gone {
	char name[PROVIDER_SIZE], parent[PARENT_SIZE], class[CLASS_SIZE];
	int placement;
};

/* What Placement has. */
struct in_placement {
	const char *directory; /* NULL: not compared */
	int *totals;           /* of each provider of ours; UNKNOWN: Placement does not have it */
	struct gone *gone;
	size_t ngone;
};

static void placement_free(struct in_placement *placement)
{
	free(placement->totals);
	free(placement->gone);
}

/*
 * The total of this class in a list of inventories: 0 it is not in it; negative: no such list. An empty class becomes
 * the first one of vGPUs.
 */
static int total_of(const char *text, char class[CLASS_SIZE], const char *path, struct err *err)
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
		if (*class ? strcmp(name, class) != 0 : !class_is_valid(name))
			continue;
		if (!text_number(total, 0, INT32_MAX, &n))
			return err_set(err, EINVAL, "%s: inventory %zu: invalid total '%s'", path, i, total);
		memcpy(class, name, CLASS_SIZE);
		return (int)n;
	}
	return r == 0 ? 0 : err_set(err, EINVAL, "%s: not a JSON list of inventories", path);
}

/* What Placement has of a provider; UNKNOWN: no such provider. */
static int read_total(int *out, const char *directory, const char *provider, char class[CLASS_SIZE], struct err *err)
{
	autofree char *path = mem_format("%s/%s.json", directory, provider), *text = NULL;
	size_t len;
	int r;

	*out = UNKNOWN;
	autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? 0 : err_sys(err, errno, "%s", path);
	r = sys_slurp(fd, JSON_MAX, &text, &len);
	if (r < 0)
		return err_sys(err, -r, "%s", path);
	*out = total_of(text, class, path, err);
	return *out < 0 ? -err->code : 0;
}

/* 0000:84:00.0 of pci_0000_84_00_0; mtty of mtty_mtty. */
static bool parse_device(char parent[PARENT_SIZE], const char *device)
{
	static const char form[] = "pci_xxxx_xx_xx_x";
	const char *half = device + strlen(device) / 2;
	char address[] = "xxxx:xx:xx.x", twice[NOVA_DEVICE_SIZE];

	if (*half == '_' && parent_parse(parent, half + 1)) {
		snprintf(twice, sizeof(twice), "%s_%s", parent, parent);
		if (strcmp(device, twice) == 0)
			return true;
	}
	if (strlen(device) != strlen(form) || strncmp(device, form, 4) != 0)
		return false;
	for (size_t i = 0; address[i]; i++) {
		if (address[i] == 'x')
			address[i] = device[4 + i];
		else if (device[4 + i] != '_')
			return false;
	}
	return pci_parse(parent, address) && strcmp(parent, address) == 0;
}

/* A file of a provider of this host, HOST_pci_0000_84_00_0.json or HOST_mtty_mtty.json: which parent that is. */
static bool parse_file(char parent[PARENT_SIZE], const char *file, const char *host)
{
	size_t n = strlen(host), len = strlen(file), suffix = strlen(".json");
	char device[NOVA_DEVICE_SIZE];

	if (len < n + 1 + suffix || strncmp(file, host, n) != 0 || file[n] != '_' ||
	    strcmp(file + len - suffix, ".json") != 0 || len - suffix - n - 1 >= sizeof(device))
		return false;
	snprintf(device, sizeof(device), "%.*s", (int)(len - suffix - n - 1), file + n + 1);
	return parse_device(parent, device);
}

static bool has_parent(const struct export *export, const char *parent)
{
	for (size_t i = 0; i < export->nova->n; i++)
		if (strcmp(export->survey->inv.parents[export->nova->providers[i].parent].name, parent) == 0)
			return true;
	return false;
}

static int by_parent(const void *a, const void *b)
{
	return strcmp(((const struct gone *)a)->parent, ((const struct gone *)b)->parent);
}

/* What Placement still has of cards that have gone, VFs that are disabled, types that are not enabled. */
static int find_gone(struct in_placement *placement, const struct export *export, struct err *err)
{
	autoclosedir DIR *dir = opendir(placement->directory);
	const struct dirent *entry;

	if (!dir)
		return err_sys(err, errno, "%s", placement->directory);
	while ((entry = sys_next(dir))) {
		struct gone gone = { 0 };

		if (!parse_file(gone.parent, entry->d_name, export->host) || has_parent(export, gone.parent))
			continue;
		snprintf(gone.name, sizeof(gone.name), "%.*s", (int)(strlen(entry->d_name) - strlen(".json")),
			 entry->d_name);
		if (read_total(&gone.placement, placement->directory, gone.name, gone.class, err) < 0)
			return -err->code;
		if (gone.placement > 0)
			memcpy(mem_add(&placement->gone, &placement->ngone, sizeof(gone)), &gone, sizeof(gone));
	}
	if (placement->ngone)
		qsort(placement->gone, placement->ngone, sizeof(*placement->gone), by_parent);
	return 0;
}

/* What there is to say of a provider; "" nothing. */
static void note_of(char note[NOTE_SIZE], const struct nova_provider *p, const char *directory, int placement)
{
	int has = placement == UNKNOWN ? 0 : placement;

	note[0] = '\0';
	if (p->limited)
		snprintf(note, NOTE_SIZE, "max_instances = %d is below the capacity, so Nova offers none",
			 p->section->max_instances);
	else if (directory && has > p->total)
		snprintf(note, NOTE_SIZE, "Placement has %d too many; restart nova-compute", has - p->total);
	else if (directory && has < p->total)
		snprintf(note, NOTE_SIZE, "Placement has %d too few; restart nova-compute", p->total - has);
	else if (*p->twice)
		snprintf(note, NOTE_SIZE, "%s is defined for two parents; see 'vgpu-lease check'", p->twice);
	else if (p->defined)
		snprintf(note, NOTE_SIZE, "%d of them only defined; see 'vgpu-lease check'", p->defined);
}

/* "A,B": the caller frees it. */
static char *traits_of(const struct export *export, const struct nova_provider *provider)
{
	char traits[NOVA_TRAITS][TRAIT_SIZE];

	nova_traits(traits, &export->survey->pool, provider);
	return mem_format("%s,%s%s%s%s%s", traits[0], traits[3], *traits[1] ? "," : "", traits[1],
			  *traits[2] ? "," : "", traits[2]);
}

static const char gone_note[] = "no such parent of vGPUs on this host; restart nova-compute, then see its log";

static void json_gone(struct json_out *json, const struct gone *gone)
{
	json_out_object(json, NULL);
	json_out_string(json, "name", gone->name);
	json_out_string(json, "parent", gone->parent);
	json_out_string(json, "type", NULL);
	json_out_string(json, "class", gone->class);
	json_out_number(json, "existing", 0);
	json_out_number(json, "defined", 0);
	json_out_number(json, "available", 0);
	json_out_number(json, "total", 0);
	json_out_number(json, "placement", gone->placement);
	json_out_array(json, "traits");
	json_out_close(json);
	json_out_string(json, "note", gone_note);
	json_out_close(json);
}

static void print_json(const struct cmd *cmd, const struct export *export, const struct in_placement *placement)
{
	struct json_out json;

	cmd_json_begin(&json, cmd);
	json_out_array(&json, "providers");
	for (size_t i = 0; i < export->nova->n; i++) {
		const struct nova_provider *p = &export->nova->providers[i];
		char name[PROVIDER_SIZE], note[NOTE_SIZE], traits[NOVA_TRAITS][TRAIT_SIZE];

		note_of(note, p, placement->directory, placement->totals[i]);
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
		json_out_known(&json, "placement", placement->totals[i]);
		json_out_array(&json, "traits");
		for (int t = 0; t < NOVA_TRAITS; t++)
			if (*traits[t])
				json_out_string(&json, NULL, traits[t]);
		json_out_close(&json);
		json_out_text(&json, "note", note);
		json_out_close(&json);
	}
	for (size_t i = 0; i < placement->ngone; i++)
		json_gone(&json, &placement->gone[i]);
	json_out_close(&json);
	json_out_end(&json);
}

static void print_table(const struct cmd *cmd, const struct export *export, const struct in_placement *placement)
{
	struct table table;

	table_start(&table, &export_placement_layout, &cmd->call->table);
	for (size_t i = 0; i < export->nova->n; i++) {
		const struct nova_provider *p = &export->nova->providers[i];
		char name[PROVIDER_SIZE], note[NOTE_SIZE];
		autofree char *traits = traits_of(export, p);

		note_of(note, p, placement->directory, placement->totals[i]);
		table_row(&table, export_provider(name, export, p), p->section->type, p->section->class);
		table_number(&table, p->existing + p->defined);
		table_number(&table, p->available);
		table_number(&table, p->total);
		table_number(&table, placement->totals[i]);
		table_row(&table, note, traits);
	}
	for (size_t i = 0; i < placement->ngone; i++) {
		const struct gone *gone = &placement->gone[i];

		table_row(&table, gone->name, "", gone->class);
		table_number(&table, 0);
		table_number(&table, 0);
		table_number(&table, 0);
		table_number(&table, gone->placement);
		table_row(&table, gone_note, "");
	}
	table_end(&table, stdout, term_stdout());
}

/* Whether it differs from what Nova counts. */
static int compare_totals(struct in_placement *placement, const struct export *export, bool *differs, struct err *err)
{
	const char *directory = placement->directory;
	bool any = false;

	for (size_t i = 0; i < export->nova->n; i++) {
		const struct nova_provider *p = &export->nova->providers[i];
		char name[PROVIDER_SIZE], class[CLASS_SIZE];
		int *total = &placement->totals[i];

		text_copy(class, sizeof(class), p->section->class);
		if (read_total(total, directory, export_provider(name, export, p), class, err) < 0)
			return -err->code;
		any |= *total != UNKNOWN;
		*differs |= (*total == UNKNOWN ? 0 : *total) != p->total;
	}
	if (find_gone(placement, export, err) < 0)
		return -err->code;
	if (*differs && !any && !placement->ngone)
		return err_set(err, ENOENT, "%s: no file is of a provider of host '%s'; fetch them, or use --hostname",
			       directory, export->host);
	*differs |= placement->ngone > 0;
	return 0;
}

int export_placement(const struct cmd *cmd, const struct export *export, const char *directory, struct err *err)
{
	__attribute__((cleanup(placement_free))) struct in_placement placement = {
		.directory = directory, .totals = mem_new(export->nova->n + 1, sizeof(*placement.totals))
	};
	bool differs = false;

	for (size_t i = 0; i < export->nova->n; i++)
		placement.totals[i] = UNKNOWN;
	if (directory && compare_totals(&placement, export, &differs, err) < 0)
		return -err->code;
	if (cmd->call->json)
		print_json(cmd, export, &placement);
	else
		print_table(cmd, export, &placement);
	return differs ? CMD_FAILED : CMD_DONE;
}
