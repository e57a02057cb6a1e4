/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A small writer of JSON: objects and arrays, one member per line. */
#include "cli/json_out.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

/* Escapes a character that would not show as itself; one above 16 bits becomes two surrogates. */
static void write_hidden(FILE *to, unsigned c)
{
	if (c > 0xffff)
		fprintf(to, "\\u%04x\\u%04x", 0xd7c0 + (c >> 10), 0xdc00 + (c & 0x3ff));
	else
		fprintf(to, "\\u%04x", c);
}

static void write_chars(FILE *to, const char *s)
{
	while (*s) {
		size_t len = text_char_len(s);
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
		if (*s == '"' || *s == '\\')
			fprintf(to, "\\%c", *s);
		else if (*s == '\n')
			fputs("\\n", to);
		else if (*s == '\t')
			fputs("\\t", to);
		else if (!text_char_shows(text_char(s, len)))
			write_hidden(to, text_char(s, len));
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

/* Begins the next value: a comma if needed, a new line, the name. Returns false if `json` is NULL. */
static bool next(struct json_out *json, const char *key)
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

static void open_level(struct json_out *json, char open, char close)
{
	if (json->depth == JSON_OUT_DEPTH)
		abort();
	putc(open, json->to);
	json->close[json->depth++] = close;
	json->empty = true;
}

void json_out_begin(struct json_out *json, FILE *to)
{
	*json = (struct json_out){ .to = to };
	open_level(json, '{', '}');
}

void json_out_end(struct json_out *json)
{
	while (json->depth)
		json_out_close(json);
	putc('\n', json->to);
}

void json_out_object(struct json_out *json, const char *key)
{
	if (next(json, key))
		open_level(json, '{', '}');
}

void json_out_array(struct json_out *json, const char *key)
{
	if (next(json, key))
		open_level(json, '[', ']');
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
	if (!next(json, key))
		return;
	if (value)
		write_string(json->to, value);
	else
		fputs("null", json->to);
}

void json_out_text(struct json_out *json, const char *key, const char *value)
{
	json_out_string(json, key, value && *value ? value : NULL);
}

void json_out_bool(struct json_out *json, const char *key, bool value)
{
	if (next(json, key))
		fputs(value ? "true" : "false", json->to);
}

void json_out_maybe(struct json_out *json, const char *key, int value)
{
	if (value < 0)
		json_out_string(json, key, NULL);
	else
		json_out_bool(json, key, value);
}

void json_out_number(struct json_out *json, const char *key, long value)
{
	if (next(json, key))
		fprintf(json->to, "%ld", value);
}

void json_out_known(struct json_out *json, const char *key, long value)
{
	if (value < 0)
		json_out_string(json, key, NULL);
	else
		json_out_number(json, key, value);
}
