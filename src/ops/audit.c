/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Would a start be refused now? The findings, the configuration's files, and the order of all else. */
#include "ops/audit.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/inventory.h"
#include "state/lease.h"
#include "state/store.h"

static struct finding *add(struct audit *audit, enum audit_status status, const char *what, const char *where,
			   const char *fmt, va_list ap)
{
	struct finding *finding;

	audit->findings = reallocarray(audit->findings, audit->n + 1, sizeof(*audit->findings));
	if (!audit->findings)
		abort();
	finding = &audit->findings[audit->n++];
	*finding = (struct finding){ .status = status, .what = what, .where = where ? strdup(where) : NULL };
	if (vasprintf(&finding->text, fmt, ap) < 0 || (where && !finding->where))
		abort();
	audit->count[status]++;
	return finding;
}

void audit_pass(struct audit *audit, const char *what, const char *where, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	add(audit, AUDIT_PASS, what, where, fmt, ap);
	va_end(ap);
}

void audit_note(struct audit *audit, enum audit_status status, const char *what, const char *where, const char *fix,
		const char *fmt, ...)
{
	struct finding *finding;
	va_list ap;

	va_start(ap, fmt);
	finding = add(audit, status, what, where, fmt, ap);
	va_end(ap);
	finding->fix = strdup(fix);
	if (!finding->fix)
		abort();
}

const char *audit_place(char where[AUDIT_WHERE], const struct place *place)
{
	if (place->line)
		snprintf(where, AUDIT_WHERE, "%.512s:%d", place->file, place->line);
	else
		snprintf(where, AUDIT_WHERE, "%.512s", place->file ? place->file : "");
	return where;
}

const char *audit_path(char where[AUDIT_WHERE], const struct audit *audit, const char *path)
{
	snprintf(where, AUDIT_WHERE, "%s/%s", audit->host->name, path);
	return where;
}

/* A sentence about a file: its first bytes are the place. */
static void note_file(struct audit *audit, enum audit_status status, const struct config_note *note, const char *fix)
{
	char where[AUDIT_WHERE];

	snprintf(where, sizeof(where), "%.*s", note->place > 2 ? (int)note->place - 2 : 0, note->text);
	audit_note(audit, status, "config", *where ? where : NULL, fix, "%s", note->text + note->place);
}

/* Not read at all, or with mistakes. */
static void config_fails(struct audit *audit, int r, const struct config_notes *mistakes, const struct err *err)
{
	char where[AUDIT_WHERE];
	const char *path = audit->config_path;

	if (!path)
		path = audit_path(where, audit, "etc/vgpu-lease.conf");
	for (size_t i = 0; i < mistakes->n; i++)
		note_file(audit, AUDIT_FAIL, &mistakes->list[i],
			  "correct it: until then every start with a vGPU that does not exist is refused");
	if (r == -ENOENT)
		audit_note(audit, AUDIT_FAIL, "config", path, "create it; vgpu-lease.conf(5) has examples",
			   "no such file: no vGPU can be leased");
	else if (mistakes->n == 0)
		audit_note(audit, AUDIT_FAIL, "config", path, "make it readable for root", "%s", err->text);
}

static void config_passes(struct audit *audit, const struct config *config)
{
	for (size_t i = 0; i < config->nfiles; i++)
		audit_pass(audit, "config", config->files[i], "no mistakes");
	for (size_t i = 0; i < config->warnings.n; i++)
		if (!config->warnings.list[i].of_pool)
			note_file(audit, AUDIT_WARN, &config->warnings.list[i],
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

static void look_at_host(struct audit *audit, const struct config *config, bool definitions)
{
	const struct inv_query query = {
		.frameworks = INV_ALL, .vf_name = pool_vf_name, .names_type = pool_names_type, .arg = config
	};
	struct inventory inv;
	struct pool pool;
	struct err err;

	recall_silent(audit->host);
	if (inventory_read(&inv, audit->host, &query, &err) < 0) {
		audit_note(audit, AUDIT_FAIL, "pgpu", NULL, "see that /sys is mounted", "the host cannot be read: %s",
			   err.text);
		return;
	}
	pool_make(&pool, config, &inv);
	audit_cards(audit, &pool);
	audit_starts(audit, &pool);
	if (definitions)
		audit_definitions(audit, &pool);
	pool_free(&pool);
	inventory_free(&inv);
}

void audit_pool(struct audit *audit, const struct config *config)
{
	look_at_host(audit, config, false);
}

void audit_run(struct audit *audit)
{
	struct config_notes mistakes = { 0 };
	struct config config;
	struct err err = { 0 };
	int r = config_load_all(&config, audit->host, audit->config_path, &mistakes, &err);

	if (r < 0)
		config_fails(audit, r, &mistakes, &err);
	else
		config_passes(audit, &config);
	config_notes_free(&mistakes);
	if (r == 0)
		look_at_host(audit, &config, true);
	audit_hook(audit);
	audit_libvirt(audit);
	audit_domains(audit);
	audit_state(audit, r == 0 ? &config : NULL);
	config_free(&config);
}

void audit_free(struct audit *audit)
{
	for (size_t i = 0; i < audit->n; i++) {
		free(audit->findings[i].where);
		free(audit->findings[i].text);
		free(audit->findings[i].fix);
	}
	free(audit->findings);
	audit->findings = NULL;
	audit->n = 0;
}
