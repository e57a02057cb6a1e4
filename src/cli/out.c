/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the commands print alike. */
#include "cli/out.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/text.h"

void out_say(const char *fmt, ...)
{
	autofree char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	text = mem_vformat(fmt, ap);
	va_end(ap);
	term_wrap(stdout, term_stdout(), 0, TERM_INDENT, text);
}

void out_lines_begin(struct out_lines *lines)
{
	lines->to = mem_open(&lines->text, &lines->len);
}

void out_lines_end(struct out_lines *lines)
{
	char *rest, *line;

	if (!lines->to)
		return;
	mem_close(lines->to);
	rest = lines->text;
	while ((line = strsep(&rest, "\n")) && rest)
		term_wrap_printable(stdout, term_stdout(), 0, TERM_INDENT, line);
	free(lines->text);
	*lines = (struct out_lines){ 0 };
}

void out_document(const char *text, size_t len)
{
	autofree char *copy = NULL;
	char *rest, *part;

	if (!term_stdout()->width) {
		fwrite(text, 1, len, stdout);
		return;
	}
	copy = mem_format("%.*s", (int)len, text);
	rest = copy;
	while (*rest) {
		size_t n = strcspn(rest, "\t\n");
		char end = rest[n];
		autofree char *safe = NULL;

		part = rest;
		rest += n + (end != '\0');
		part[n] = '\0';
		safe = term_safe(part);
		fputs(safe, stdout);
		if (end)
			putchar(end);
	}
}

void out_error(const char *prefix, const struct err *err)
{
	char line[ERR_TEXT_MAX];

	err_line(line, prefix, err);
	term_wrap_printable(stderr, term_stderr(), 0, TERM_INDENT, line);
	fflush(stderr);
}

void out_warn(const char *fmt, ...)
{
	struct err err = { 0 };
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(err.text, sizeof(err.text), fmt, ap);
	va_end(ap);
	out_error("vgpu-lease: warning", &err);
}

int out_progress(bool silent, const char *fmt, ...)
{
	static const char end[] = " ...";
	const struct term *term = term_stderr();
	autofree char *text = NULL, *safe = NULL;
	size_t len;
	va_list ap;

	if (silent || !term->width)
		return 0;
	va_start(ap, fmt);
	text = mem_vformat(fmt, ap);
	va_end(ap);
	safe = term_safe(text);
	/* A line that goes on below could not be removed. */
	for (len = strlen(safe); len; len--)
		if ((safe[len] & 0xC0) != 0x80 && term_columns(safe, len) + (int)sizeof(end) <= term->width)
			break;
	fprintf(stderr, "%.*s%s", (int)len, safe, end);
	fflush(stderr);
	return term_columns(safe, len) + (int)strlen(end);
}

void out_progress_end(int columns)
{
	if (columns)
		fprintf(stderr, "\r%*s\r", columns, "");
	fflush(stderr);
}

void out_wall_time(char out[32], int64_t boot_ms)
{
	int64_t ago_ms = sys_now_ms() - boot_ms;
	struct timespec now;
	struct tm tm;
	time_t then;

	clock_gettime(CLOCK_REALTIME, &now);
	then = now.tv_sec - (time_t)((ago_ms - now.tv_nsec / 1000000 + 999) / 1000);
	gmtime_r(&then, &tm);
	strftime(out, 32, "%Y-%m-%dT%H:%M:%SZ", &tm);
}

void out_age(char out[32], int64_t boot_ms)
{
	long s = (long)((sys_now_ms() - boot_ms) / 1000);

	if (s < 120)
		snprintf(out, 32, "%lds", s);
	else if (s < 120 * 60L)
		snprintf(out, 32, "%ldm", s / 60);
	else if (s < 48 * 3600L)
		snprintf(out, 32, "%ldh", s / 3600);
	else
		snprintf(out, 32, "%ldd", s / 86400);
}

void out_json_vgpu(struct json_out *json, const struct vgpu_ref *vgpu)
{
	json_out_string(json, "id", vgpu->id);
	json_out_text(json, "type", vgpu->type);
	json_out_string(json, "framework", framework_word(vgpu->framework));
	json_out_text(json, "parent", vgpu->parent);
	json_out_text(json, "pgpu", vgpu->pgpu);
}

void out_json_lease(struct json_out *json, const struct lease *lease)
{
	json_out_string(json, "state", lease ? lease_state_word(lease->state) : NULL);
	if (lease)
		out_json_domain(json, lease->domain, lease->name);
	else
		json_out_string(json, "domain", NULL);
}

void out_json_lease_row(struct json_out *json, const struct lease *lease, int mib)
{
	char since[32] = "";

	if (lease)
		out_wall_time(since, lease->since_ms);
	json_out_known(json, "numa_node", lease ? lease->numa : UNKNOWN);
	json_out_known(json, "framebuffer_mib", mib);
	out_json_lease(json, lease);
	json_out_string(json, "origin", lease ? lease_origin_word(lease->origin) : NULL);
	json_out_text(json, "project", lease ? lease->project : "");
	json_out_text(json, "instance", lease ? lease->instance : "");
	json_out_text(json, "since", since);
}

const char *const out_finding_words[] = { [CHECK_PASS] = "PASS", [CHECK_WARN] = "WARN", [CHECK_FAIL] = "FAIL" };

char *out_finding_text(const struct finding *finding)
{
	const char *where = finding->where ? finding->where : "", *fix = finding->fix ? finding->fix : "";

	return mem_format("%s%s%s%s%s", where, *where ? ": " : "", finding->text, *fix ? "; " : "", fix);
}

void out_json_finding(struct json_out *json, const struct finding *finding)
{
	json_out_object(json, NULL);
	json_out_string(json, "status", out_finding_words[finding->status]);
	json_out_string(json, "what", finding->what);
	json_out_string(json, "where", finding->where);
	json_out_string(json, "message", finding->text);
	json_out_string(json, "fix", finding->fix);
	json_out_close(json);
}

void out_json_domain(struct json_out *json, const char *uuid, const char *name)
{
	json_out_object(json, "domain");
	json_out_text(json, "uuid", uuid);
	json_out_string(json, "name", name);
	json_out_close(json);
}

void out_json_presence(struct json_out *json, const char *key, enum presence exists)
{
	if (exists == PRESENCE_UNKNOWN)
		json_out_string(json, key, NULL);
	else
		json_out_bool(json, key, exists == PRESENT);
}

void out_json_open(struct json_out *json, int open, pid_t by)
{
	if (open < 0)
		json_out_string(json, "open", NULL);
	else
		json_out_bool(json, "open", open > 0);
	json_out_known(json, "open_by", open > 0 ? by : UNKNOWN);
}

void out_json_count(struct json_out *json, const struct capacity_count *count)
{
	json_out_number(json, "capacity", count->capacity);
	json_out_number(json, "used", count->used);
	json_out_number(json, "available", count->available);
}

void out_table_count(struct table *table, const struct capacity_count *count)
{
	table_number(table, count->capacity);
	table_number(table, count->used);
	table_number(table, count->available);
}

void out_table_state(struct table *table, const struct lease *lease)
{
	if (lease)
		table_coloured(table, lease_state_word(lease->state),
			       lease->state == LEASE_ACTIVE ? TERM_GREEN : TERM_YELLOW);
	else
		table_row(table, NULL);
}

const char *out_class(const struct config *config, const char *type)
{
	const struct section *section = config_section(config, type);

	return section ? section->class : NULL;
}

void out_json_type(struct json_out *json, const struct inv_type *type, const struct config *config)
{
	json_out_string(json, "id", type->id);
	json_out_string(json, "name", type->name);
	json_out_string(json, "class", out_class(config, type->id));
	json_out_known(json, "framebuffer_mib", type->framebuffer_mib);
	json_out_known(json, "heads", type->heads);
	json_out_text(json, "resolution", type->resolution);
}
