/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Writes JSON, lines of text, times and rows. */
#include "cli/out.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"

static void write_chars(FILE *to, const char *s)
{
	static const char escaped[] = "\"\\\n\t", letters[] = "\"\\nt";

	while (*s) {
		unsigned c;
		size_t len = text_char(s, &c);
		const char *rooted = text_command(s);

		if (rooted) {
			write_chars(to, rooted);
			s += strlen(TEXT_COMMAND);
			continue;
		}
		if (len == 0) {
			fputs("\xef\xbf\xbd", to);
			s++;
			continue;
		}
		if (strchr(escaped, *s))
			fprintf(to, "\\%c", letters[strchr(escaped, *s) - escaped]);
		else if (!text_char_shows(c) && c > 0xffff) /* two surrogates */
			fprintf(to, "\\u%04x\\u%04x", 0xd7c0 + (c >> 10), 0xdc00 + (c & 0x3ff));
		else if (!text_char_shows(c))
			fprintf(to, "\\u%04x", c);
		else
			fwrite(s, 1, len, to);
		s += len;
	}
}

static void write_string(FILE *to, const char *s)
{
	putc('"', to);
	write_chars(to, s);
	putc('"', to);
}

/* Writes a comma if needed, a newline, and the key if any. False if `json` is NULL. */
static bool begin_member(struct json_out *json, const char *key)
{
	if (!json)
		return false;
	if (!json->empty)
		putc(',', json->to);
	json->empty = false;
	fprintf(json->to, "\n%*s", 2 * json->depth, "");
	if (key) {
		write_string(json->to, key);
		fputs(": ", json->to);
	}
	return true;
}

void json_out_begin(struct json_out *json, FILE *to)
{
	*json = (struct json_out){ .to = to, .depth = 1, .close = "}", .empty = true };
	putc('{', to);
}

void json_out_end(struct json_out *json)
{
	while (json->depth)
		json_out_close(json);
	putc('\n', json->to);
}

static void open_level(struct json_out *json, const char *key, char open, char close)
{
	if (!begin_member(json, key))
		return;
	if (json->depth == JSON_OUT_DEPTH)
		abort();
	putc(open, json->to);
	json->close[json->depth++] = close;
	json->empty = true;
}

void json_out_object(struct json_out *json, const char *key)
{
	open_level(json, key, '{', '}');
}

void json_out_array(struct json_out *json, const char *key)
{
	open_level(json, key, '[', ']');
}

void json_out_close(struct json_out *json)
{
	if (!json)
		return;
	json->depth--;
	if (!json->empty)
		fprintf(json->to, "\n%*s", 2 * json->depth, "");
	putc(json->close[json->depth], json->to);
	json->empty = false;
}

void json_out_string(struct json_out *json, const char *key, const char *value)
{
	if (!begin_member(json, key))
		return;
	if (value && *value)
		write_string(json->to, value);
	else
		fputs("null", json->to);
}

void json_out_bool(struct json_out *json, const char *key, int value)
{
	if (begin_member(json, key))
		fputs(value < 0 ? "null" : value ? "true" : "false", json->to);
}

void json_out_number(struct json_out *json, const char *key, long value)
{
	if (value < 0)
		json_out_string(json, key, NULL);
	else if (begin_member(json, key))
		fprintf(json->to, "%ld", value);
}

static int progress; /* the width of the progress line in columns; 0: no line is shown */

void out_progress(bool silent, const char *fmt, ...)
{
	static const char end[] = " ...";
	const struct term *term = term_stderr();
	autofree char *text = NULL, *safe = NULL;
	size_t len;
	va_list ap;

	if (silent || !term->width)
		return;
	va_start(ap, fmt);
	text = mem_vformat(fmt, ap);
	va_end(ap);
	safe = term_safe(text);
	/* Cut the text to one line, because out_progress_end() can remove only one line. */
	for (len = strlen(safe); len; len--)
		if ((safe[len] & 0xC0) != 0x80 && term_columns(safe, len) + (int)sizeof(end) <= term->width)
			break;
	fprintf(stderr, "%.*s%s", (int)len, safe, end);
	fflush(stderr);
	progress = term_columns(safe, len) + (int)strlen(end);
}

void out_progress_end(void)
{
	if (progress)
		fprintf(stderr, "\r%*s\r", progress, "");
	progress = 0;
	fflush(stderr);
}

void out_say(const char *fmt, ...)
{
	autofree char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	text = mem_vformat(fmt, ap);
	va_end(ap);
	out_progress_end();
	term_wrap(0, TERM_INDENT, text);
}

void out_fact(const char *key, const char *fmt, ...)
{
	autofree char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	text = mem_vformat(fmt, ap);
	va_end(ap);
	if (!*text)
		return;
	printf("  %s", key);
	term_wrap_behind(2 + (int)strlen(key), 15, text);
}

void out_error(const char *prefix, const struct err *err)
{
	char line[ERR_TEXT_MAX];

	out_progress_end();
	err_line(line, prefix, err);
	term_wrap_printable(term_stderr(), 0, TERM_INDENT, line);
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

void out_time(char out[32], time_t seconds)
{
	struct tm tm;

	gmtime_r(&seconds, &tm);
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

/* "-30m" */
static bool read_distance(int64_t *at, const char *text, time_t now)
{
	static const char units[] = "smhd";
	static const int seconds[] = { 1, 60, 3600, 86400 };
	char number[10], unit[2];
	int end;

	if (sscanf(text, "-%9[0-9]%1[smhd]%n", number, unit, &end) != 2 || text[end])
		return false;
	*at = now - (int64_t)atol(number) * seconds[strchr(units, *unit) - units];
	return true;
}

static bool read_date(int64_t *at, const char *text)
{
	static const char *const formats[] = { "%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M",
					       "%Y-%m-%d" };

	for (size_t i = 0; isdigit((unsigned char)*text) && i < ARRAY_SIZE(formats); i++) {
		struct tm tm = { .tm_isdst = -1 };
		const char *end = strptime(text, formats[i], &tm);
		int day = tm.tm_mday;

		if (!end || *end)
			continue;
		*at = i == 0 ? timegm(&tm) : mktime(&tm);
		return tm.tm_mday == day; /* mktime() turns 30 February into a day of March */
	}
	return false;
}

bool events_since(int64_t *us, const char *text, time_t now)
{
	char today[16];
	struct tm tm;

	localtime_r(&now, &tm);
	strftime(today, sizeof(today), "%Y-%m-%d", &tm);
	if (!read_distance(us, text, now) && !read_date(us, strcmp(text, "today") == 0 ? today : text))
		return false;
	*us = *us > 0 ? *us * 1000000 : 1;
	return true;
}

void row_begin(struct rows *rows)
{
	table_line(&rows->table);
	json_out_object(rows->json, NULL);
}

void row_text(struct rows *rows, enum column column, const char *member, const char *text)
{
	table_text(&rows->table, column, text);
	json_out_string(rows->json, member, text);
}

void row_number(struct rows *rows, enum column column, const char *member, int number)
{
	table_number(&rows->table, column, number);
	json_out_number(rows->json, member, number);
}

void row_end(struct rows *rows)
{
	json_out_close(rows->json);
}

void row_vgpu(struct rows *rows, const struct vgpu_ref *vgpu)
{
	row_text(rows, COL_ID, "id", vgpu->id);
	row_text(rows, COL_TYPE, "type", vgpu->type);
	row_text(rows, COL_FRAMEWORK, "framework", framework_words[vgpu->framework]);
	row_text(rows, COL_PARENT, "parent", vgpu->parent);
	row_text(rows, COL_PGPU, "pgpu", vgpu->pgpu);
}

void row_lease(struct rows *rows, const struct lease *lease)
{
	json_out_string(rows->json, "state", lease ? lease_state_words[lease->state] : NULL);
	if (!lease) {
		json_out_string(rows->json, "domain", NULL);
		return;
	}
	table_coloured(&rows->table, COL_STATE, lease_state_words[lease->state],
		       lease->state == LEASE_ACTIVE ? TERM_GREEN : TERM_YELLOW);
	table_text(&rows->table, COL_DOMAIN, lease->name);
	out_json_domain(rows->json, lease->domain, lease->name);
}

void row_whole_lease(struct rows *rows, const struct lease *lease, int mib)
{
	char since[32] = "", age[32] = "";

	if (lease) {
		out_time(since, sys_wall_ms(lease->since_ms) / 1000);
		out_age(age, lease->since_ms);
	}
	row_number(rows, COL_NUMA, "numa_node", lease ? lease->numa : UNKNOWN);
	row_number(rows, COL_MIB, "framebuffer_mib", mib);
	row_lease(rows, lease);
	row_text(rows, COL_ORIGIN, "origin", lease ? lease_origin_words[lease->origin] : NULL);
	row_text(rows, COL_PROJECT, "project", lease ? lease->project : NULL);
	row_text(rows, COL_INSTANCE, "instance", lease ? lease->instance : NULL);
	row_text(rows, COL_SINCE, "since", since);
	table_text(&rows->table, COL_AGE, age);
}

void out_json_domain(struct json_out *json, const char *uuid, const char *name)
{
	json_out_object(json, "domain");
	json_out_string(json, "uuid", uuid);
	json_out_string(json, "name", name);
	json_out_close(json);
}

void row_count(struct rows *rows, const struct capacity_count *count)
{
	row_number(rows, COL_CAPACITY, "capacity", count->capacity);
	row_number(rows, COL_USED, "used", count->used);
	row_number(rows, COL_AVAILABLE, "available", count->available);
}

const char *out_class(const struct config *config, const char *type)
{
	const struct section *section = config_section(config, type);

	return section ? section->class : NULL;
}

void row_type(struct rows *rows, const struct inv_type *type, const struct config *config)
{
	row_text(rows, COL_TYPE, "id", type->id);
	row_text(rows, COL_NAME, "name", type->name);
	row_text(rows, COL_CLASS, "class", out_class(config, type->id));
	row_number(rows, COL_MIB, "framebuffer_mib", type->framebuffer_mib);
	row_number(rows, COL_HEADS, "heads", type->heads);
	row_text(rows, COL_RESOLUTION, "resolution", type->resolution);
}
