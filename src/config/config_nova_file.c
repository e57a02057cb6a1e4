/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A nova.conf to its entries, as oslo.config's parser has them (oslo_config/iniparser.py): white space is Python's,
 * lines end at \n, \r or \r\n, a line that begins with a blank or a tab continues the value above, everything else ends
 * it. What that parser refuses is refused, wherever it stands: Nova does not start with it.
 */
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/text.h"
#include "internal.h"

enum { ENTRIES_MAX = 4096 };

struct reader {
	struct draft *draft;
	struct err *err;
	struct spot at;      /* the line that is being read */
	const char *section; /* NULL: before the first */
	char *key;           /* NULL: no value is open */
	char *value, *end;   /* of the open key; the end moves as lines continue it */
	int key_line;
};

/* Python's white space at `s`, UTF-8: its bytes, 0 where there is none. */
static size_t space(const char *s)
{
	static const char *const wide[] = {
		"\xc2\x85",     "\xc2\xa0",     "\xe1\x9a\x80", "\xe2\x80\xa8",
		"\xe2\x80\xa9", "\xe2\x80\xaf", "\xe2\x81\x9f", "\xe3\x80\x80",
	};

	if (*s == ' ' || (*s >= '\t' && *s <= '\r') || (*s >= '\x1c' && *s <= '\x1f'))
		return 1;
	if (strncmp(s, "\xe2\x80", 2) == 0 && (unsigned char)s[2] >= 0x80 && (unsigned char)s[2] <= 0x8a)
		return 3;
	for (size_t i = 0; i < ARRAY_SIZE(wide); i++)
		if (strncmp(s, wide[i], strlen(wide[i])) == 0)
			return strlen(wide[i]);
	return 0;
}

static void cut_end(char *s)
{
	char *end = s;

	while (*s) {
		size_t n = space(s);

		s += n ? n : 1;
		if (!n)
			end = s;
	}
	*end = '\0';
}

char *config_nova_strip(char *s)
{
	for (size_t n = space(s); n > 0; n = space(s))
		s += n;
	cut_end(s);
	return s;
}

/* Only [devices] and the sections of types; of these only the options that make the pool, and the headers. */
static bool is_shared(const char *section, const char *key)
{
	if (strcasecmp(section, "devices") != 0 && strncasecmp(section, "mdev_", 5) != 0 &&
	    strncasecmp(section, "vgpu_", 5) != 0)
		return false;
	if (!key || strcmp(key, "enabled_mdev_types") == 0 || strcmp(key, "enabled_vgpu_types") == 0)
		return true;
	for (enum nova_option option = NOVA_ADDRESSES; option <= NOVA_MAX; option++)
		if (strcmp(config_nova_keys[option], key) == 0)
			return true;
	return false;
}

static int add_entry(struct reader *r, const char *key, const char *value, int line)
{
	struct draft *draft = r->draft;
	struct nova_entry *slot;

	if (!is_shared(r->section, key))
		return 0;
	if (draft->nentries == ENTRIES_MAX)
		return spot_err(&r->at, r->err, "more than %d lines in [devices] and [mdev_*]", ENTRIES_MAX);
	slot = mem_add(&draft->entries, &draft->nentries, sizeof(*slot));
	*slot = (struct nova_entry){ { r->at.file, line }, r->section, key, value };
	return 0;
}

/* The value is complete. */
static int end_key(struct reader *r)
{
	struct spot at = r->at;
	char *key = r->key;

	r->key = NULL;
	if (!key)
		return 0;
	at.line = r->key_line;
	if (!r->section)
		return spot_err(&at, r->err, "'%.80s' is outside of any [section]", key);
	return add_entry(r, key, r->value, r->key_line);
}

static int take_header(struct reader *r, char *line)
{
	size_t n = strlen(line);

	if (n < 3 || line[n - 1] != ']')
		return spot_err(&r->at, r->err, "'%.80s' is not a section header: expected [NAME] and nothing after it",
				line);
	line[n - 1] = '\0';
	r->section = line + 1;
	return add_entry(r, NULL, NULL, r->at.line);
}

/* Quotes around the first line are not part of the value. */
static int take_key(struct reader *r, char *line)
{
	size_t n = strcspn(line, ":=");
	size_t len;

	if (!line[n])
		return spot_err(&r->at, r->err, "'%.80s': expected 'key = value', [section] or # comment", line);
	line[n] = '\0';
	r->value = config_nova_strip(line + n + 1);
	r->key = config_nova_strip(line);
	if (!*r->key)
		return spot_err(&r->at, r->err, "missing key before '='");
	len = strlen(r->value);
	if (len && (*r->value == '"' || *r->value == '\'') && r->value[len - 1] == *r->value) {
		r->value[len - 1] = '\0';
		r->value += len > 1;
	}
	r->end = r->value + strlen(r->value);
	r->key_line = r->at.line;
	return 0;
}

/* The line stands behind the value in the same text, with at least a line's end between them. */
static int continue_value(struct reader *r, char *line)
{
	size_t n;

	if (!r->key || !r->end)
		return spot_err(&r->at, r->err, "indented line without a key above to continue");
	line = config_nova_strip(line);
	n = strlen(line);
	*r->end++ = '\n';
	memmove(r->end, line, n + 1);
	r->end += n;
	return 0;
}

static int take_line(struct reader *r, char *line)
{
	int e;

	cut_end(line);
	if (*line == ' ' || *line == '\t')
		return continue_value(r, line);
	e = end_key(r);
	if (e < 0 || !*line || *line == '#' || *line == ';')
		return e;
	return *line == '[' ? take_header(r, line) : take_key(r, line);
}

/* Python reads the whole file as UTF-8, comments included. NUL is a character like another, and no white space. */
static int check_text(const char *file, char *text, size_t len, struct err *err)
{
	struct spot at = { .file = file, .line = 1 };

	for (size_t i = 0; i < len;) {
		size_t n = text_char_len(text + i);

		if (!n || i + n > len)
			return spot_err(&at, err, "not UTF-8 text (%02x); Nova reads no other", (unsigned char)text[i]);
		if (text[i] == '\0')
			text[i] = '\x01';
		at.line += text[i] == '\n' || (text[i] == '\r' && text[i + 1] != '\n');
		i += n;
	}
	return 0;
}

int config_nova_read(struct draft *draft, const char *file, char *text, size_t len, struct err *err)
{
	struct reader r = { .draft = draft, .err = err, .at = { .file = file } };
	int e = check_text(file, text, len, err);

	for (char *line = text, *next; e == 0 && line < text + len; line = next) {
		size_t n = strcspn(line, "\r\n");

		next = line + n + 1 + (line[n] == '\r' && line[n + 1] == '\n');
		line[n] = '\0';
		r.at.line++;
		e = take_line(&r, line);
	}
	return e < 0 ? e : end_key(&r);
}
