/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A small, strict reader of JSON: the members of one object. */
#include "base/json.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

struct reader {
	const char *at;
	const char *wrong;
	int depth;
	bool unfit; /* the last string did not fit, or is not ASCII */
	struct json_field *fields;
	size_t nfields;
	const struct json_field *list; /* the list whose items are being read */
};

static bool fail(struct reader *r, const char *wrong)
{
	if (!r->wrong)
		r->wrong = wrong;
	return false;
}

static void skip_space(struct reader *r)
{
	r->at += strspn(r->at, " \t\n\r");
}

/* Skips the next byte if it is one of `bytes`. */
static bool skip_one_of(struct reader *r, const char *bytes)
{
	bool found = *r->at && strchr(bytes, *r->at);

	r->at += found;
	return found;
}

/* Skips white space and the byte `c`. Returns false if another byte follows the white space. */
static bool take_byte(struct reader *r, char c)
{
	skip_space(r);
	return skip_one_of(r, (const char[]){ c, '\0' });
}

/* Stands for NUL and for any character outside ASCII. */
enum { FOREIGN = 0x80 };

static int read_escape(struct reader *r)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	const char *known = *r->at ? strchr(from, *r->at) : NULL;
	char hex[5] = "";
	long c;

	if (known) {
		r->at++;
		return to[known - from];
	}
	if (*r->at != 'u' || strspn(r->at + 1, "0123456789abcdefABCDEF") < 4)
		return -1;
	memcpy(hex, r->at + 1, 4);
	r->at += 5;
	/* NUL is FOREIGN, because it would end the text early. */
	c = strtol(hex, NULL, 16);
	return c > 0 && c < FOREIGN ? (int)c : FOREIGN;
}

/* Reads a string into buf[size], which becomes "" if the string is `unfit`. */
static bool read_string(struct reader *r, char *buf, size_t size)
{
	size_t n = 0;

	r->unfit = false;
	if (!take_byte(r, '"'))
		return fail(r, "a string is missing");
	while (*r->at && *r->at != '"') {
		int c = (unsigned char)*r->at++;

		if (c < 0x20)
			return fail(r, "a control character is in a string");
		if (c == '\\')
			c = read_escape(r);
		if (c < 0)
			return fail(r, "an escape in a string is not valid");
		if (c >= FOREIGN || n + 1 >= size)
			r->unfit = true;
		else
			buf[n++] = (char)c;
	}
	if (!take_byte(r, '"'))
		return fail(r, "a string does not end");
	buf[r->unfit ? 0 : n] = '\0';
	return true;
}

static bool skip_digits(struct reader *r)
{
	size_t n = strspn(r->at, "0123456789");

	r->at += n;
	return n > 0;
}

static bool skip_number(struct reader *r)
{
	bool good;

	skip_one_of(r, "-");
	/* JSON allows no digit after a leading zero. */
	good = skip_one_of(r, "0") || skip_digits(r);
	if (good && skip_one_of(r, "."))
		good = skip_digits(r);
	if (good && skip_one_of(r, "eE")) {
		skip_one_of(r, "+-");
		good = skip_digits(r);
	}
	return good || fail(r, "a number is not valid");
}

static bool skip_word(struct reader *r)
{
	static const char *const words[] = { "true", "false", "null" };

	for (size_t i = 0; i < 3; i++)
		if (strncmp(r->at, words[i], strlen(words[i])) == 0) {
			r->at += strlen(words[i]);
			return true;
		}
	return fail(r, "a value is not valid");
}

/* Reads the rest of an object or array, after its opening bracket. A key of 64 bytes or more becomes "". */
static bool read_members(struct reader *r, char close, bool (*read)(struct reader *r, const char *key))
{
	char key[64] = "";

	if (take_byte(r, close))
		return true;
	r->depth++;
	do {
		if (close == '}' && !read_string(r, key, sizeof(key)))
			return false;
		if (close == '}' && !take_byte(r, ':'))
			return fail(r, "a colon is missing");
		if (!read(r, key))
			return false;
	} while (take_byte(r, ','));
	r->depth--;
	return take_byte(r, close) || fail(r, "a comma or closing bracket is missing");
}

static bool skip_value(struct reader *r, const char *key)
{
	char none[1];

	(void)key;
	if (r->depth >= JSON_DEPTH)
		return fail(r, "it is nested too deep");
	skip_space(r);
	if (!*r->at)
		return fail(r, "a value is missing");
	if (*r->at == '"')
		return read_string(r, none, sizeof(none));
	if (take_byte(r, '{'))
		return read_members(r, '}', skip_value);
	if (take_byte(r, '['))
		return read_members(r, ']', skip_value);
	if (*r->at == '-' || isdigit((unsigned char)*r->at))
		return skip_number(r);
	return skip_word(r);
}

/* Reads an object that has one member, a string. */
static bool read_pair(struct reader *r, const char *key)
{
	char name[64], value[1024];

	(void)key;
	return (take_byte(r, '{') && read_string(r, name, sizeof(name)) && !r->unfit && take_byte(r, ':') &&
		read_string(r, value, sizeof(value)) && !r->unfit && take_byte(r, '}') &&
		r->list->pair(r->list->arg, name, value)) ||
	       fail(r, "an item of a list is not a name and a value");
}

static bool read_field(struct reader *r, const char *key)
{
	struct json_field *field = NULL;

	for (size_t i = 0; i < r->nfields; i++)
		if (strcmp(r->fields[i].key, key) == 0)
			field = &r->fields[i];
	if (!field)
		return skip_value(r, key);
	if (field->found)
		return fail(r, "a member appears twice");
	field->found = true;
	if (!field->value) {
		r->list = field;
		return take_byte(r, '[') ? read_members(r, ']', read_pair)
					 : fail(r, "a member that must be a list is not one");
	}
	skip_space(r);
	if (*r->at != '"')
		return fail(r, "a member that must be a string is not one");
	return read_string(r, field->value, field->size) &&
	       (!r->unfit || fail(r, "a member is too long or not plain ASCII"));
}

const char *json_read(const char *text, struct json_field *fields, size_t nfields)
{
	struct reader r = { .at = text, .fields = fields, .nfields = nfields };

	for (size_t i = 0; i < nfields; i++) {
		fields[i].found = false;
		if (fields[i].value)
			fields[i].value[0] = '\0';
	}
	if (!take_byte(&r, '{'))
		return "it is not a JSON object";
	if (!read_members(&r, '}', read_field))
		return r.wrong;
	skip_space(&r);
	return *r.at ? "something follows the object" : NULL;
}
