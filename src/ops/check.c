/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Would a start be refused now? The findings, the configuration's files, and the order of all else. */
#include "ops/check.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/inventory.h"
#include "state/history.h"
#include "state/lease_store.h"
#include "state/store.h"

static struct finding *add(struct check *check, enum check_status status, const char *what, const char *where,
			   const char *fmt, va_list ap)
{
	struct finding *finding;

	check->findings = reallocarray(check->findings, check->n + 1, sizeof(*check->findings));
	if (!check->findings)
		abort();
	finding = &check->findings[check->n++];
	*finding = (struct finding){ .status = status, .what = what, .where = where ? strdup(where) : NULL };
	if (vasprintf(&finding->text, fmt, ap) < 0 || (where && !finding->where))
		abort();
	check->count[status]++;
	return finding;
}

void check_pass(struct check *check, const char *what, const char *where, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	add(check, CHECK_PASS, what, where, fmt, ap);
	va_end(ap);
}

void check_note(struct check *check, enum check_status status, const char *what, const char *where, const char *fix,
		const char *fmt, ...)
{
	struct finding *finding;
	va_list ap;

	va_start(ap, fmt);
	finding = add(check, status, what, where, fmt, ap);
	va_end(ap);
	finding->fix = strdup(fix);
	if (!finding->fix)
		abort();
}

const char *check_place(char where[CHECK_WHERE], const struct place *place)
{
	if (place->line)
		snprintf(where, CHECK_WHERE, "%.512s:%d", place->file, place->line);
	else
		snprintf(where, CHECK_WHERE, "%.512s", place->file ? place->file : "");
	return where;
}

const char *check_path(char where[CHECK_WHERE], const struct check *check, const char *path)
{
	snprintf(where, CHECK_WHERE, "%s/%s", check->host->name, path);
	return where;
}

/* A sentence about a file: its first bytes are the place. */
static void note_file(struct check *check, enum check_status status, const struct config_note *note, const char *fix)
{
	char where[CHECK_WHERE];

	snprintf(where, sizeof(where), "%.*s", note->place > 2 ? (int)note->place - 2 : 0, note->text);
	check_note(check, status, "config", *where ? where : NULL, fix, "%s", note->text + note->place);
}

/* Not read at all, or with mistakes. */
static void config_fails(struct check *check, int r, const struct config_notes *mistakes, const struct err *err)
{
	char where[CHECK_WHERE];
	const char *path = check->config_path;

	if (!path)
		path = check_path(where, check, "etc/vgpu-lease.conf");
	for (size_t i = 0; i < mistakes->n; i++)
		note_file(check, CHECK_FAIL, &mistakes->list[i],
			  "correct it: until then every start with a vGPU that does not exist is refused");
	if (r == -ENOENT)
		check_note(check, CHECK_FAIL, "config", path, "create it; vgpu-lease.conf(5) has examples",
			   "no such file: no vGPU can be leased");
	else if (mistakes->n == 0)
		check_note(check, CHECK_FAIL, "config", path, "make it readable for root", "%s", err->text);
}

static void config_passes(struct check *check, const struct config *config)
{
	for (size_t i = 0; i < config->nfiles; i++)
		check_pass(check, "config", config->files[i], "no mistakes");
	for (size_t i = 0; i < config->warnings.n; i++)
		if (!config->warnings.list[i].of_pool)
			note_file(check, CHECK_WARN, &config->warnings.list[i],
				  "delete one of the two, or leave it as it is");
}

/* A card that other processes know to hang is not asked again. */
static void recall_silent(const struct host *host)
{
	struct store store;
	struct err ignored;

	if (store_open(&store, host, false, &ignored) == 0)
		silent_recall(&store);
	store_close(&store);
}

static void look_at_host(struct check *check, const struct config *config, bool definitions)
{
	const struct inv_query query = {
		.frameworks = INV_ALL, .vf_name = pool_vf_name, .names_type = pool_names_type, .arg = config
	};
	struct inventory inv;
	struct pool pool;
	struct err err;

	recall_silent(check->host);
	if (inventory_read(&inv, check->host, &query, &err) < 0) {
		check_note(check, CHECK_FAIL, "pgpu", NULL, "see that /sys is mounted", "the host cannot be read: %s",
			   err.text);
		return;
	}
	pool_make(&pool, config, &inv);
	check_cards(check, &pool);
	check_starts(check, &pool);
	if (definitions)
		check_definitions(check, &pool);
	pool_free(&pool);
	inventory_free(&inv);
}

void check_pool(struct check *check, const struct config *config)
{
	look_at_host(check, config, false);
}

void check_run(struct check *check)
{
	struct config_notes mistakes = { 0 };
	struct config config;
	struct err err = { 0 };
	int r = config_load_all(&config, check->host, check->config_path, &mistakes, &err);

	if (r < 0)
		config_fails(check, r, &mistakes, &err);
	else
		config_passes(check, &config);
	config_notes_free(&mistakes);
	if (r == 0)
		look_at_host(check, &config, true);
	check_hook(check);
	check_libvirt(check);
	check_domains(check);
	check_state(check, r == 0 ? &config : NULL);
	config_free(&config);
}

void check_free(struct check *check)
{
	for (size_t i = 0; i < check->n; i++) {
		free(check->findings[i].where);
		free(check->findings[i].text);
		free(check->findings[i].fix);
	}
	free(check->findings);
	check->findings = NULL;
	check->n = 0;
}
