/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Splits text into sections, keys and values, with inih.
 *
 * inih passes no line numbers in some builds, silently truncates long lines and section names, skips empty sections,
 * and reads an indented [section] as a value. Therefore next_line() counts the lines, and refuses lines that inih would
 * misread; the value is taken from the line itself, because inih gets only the beginning of a long one.
 */
#include <ctype.h>
#include <ini.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/text.h"
#include "internal.h"

enum {
	VALUE_MAX = 65536,
	SECTION_SIZE = 50, /* inih keeps 49 characters of a section's name and silently drops the rest */
};

struct reader {
	struct draft *draft;
	struct err *err;
	const char *file, *at, *end;
	int line;
	int failed;                                        /* the negative errno that stops reading */
	const char *word;                                  /* a word of the line that may be meant as a type; "" none */
	enum { SKIP_NONE, SKIP_VALUE, SKIP_SECTION } skip; /* until the next key or section */

	char *text;   /* a copy of the line */
	bool awaited; /* inih has not called the handler for the line yet */

	const char *name; /* of the current section */
	struct section *section;
	const struct key *keys; /* NULL: before the first section */
	int seen[KEYS_MAX];     /* the line of each key in the section */

	bool open;             /* an indented line would continue the value */
	const struct key *key; /* NULL: the section is unknown */
	int key_line, value_line;
	char *value;
	size_t len;
};

static void note_mistake(struct reader *r, int e)
{
	e = config_mistake(r->draft, e, r->err);
	if (e < 0)
		r->failed = e;
}

/* Sets the key, because no further line continues its value. */
static void end_key(struct reader *r)
{
	struct setting t = {
		.draft = r->draft,
		.section = r->section,
		.key = r->key,
		.at = { .file = r->file, .line = r->key_line, .section = r->name },
		.err = r->err,
	};
	int e;

	if (!r->open)
		return;
	r->open = false;
	if (!r->key)
		return;
	r->value[r->len] = '\0';
	t.at.key = r->key->name;
	e = config_key_set(&t, r->value);
	r->draft->unsure |= e < 0 && r->keys == config_devices_keys;
	note_mistake(r, e);
}

static void key_mistake(struct reader *r, int e)
{
	r->awaited = r->open = false;
	r->skip = SKIP_VALUE;
	r->draft->unsure |= r->keys == config_devices_keys;
	note_mistake(r, e);
}

/* Reports a line that cannot be read, and skips the rest of its value or section. */
__attribute__((format(printf, 2, 3))) static void fail(struct reader *r, const char *fmt, ...)
{
	const struct location at = { .file = r->file, .line = r->line };
	char what[512];
	va_list ap;

	end_key(r);
	if (r->failed)
		return;
	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	r->draft->unsure = true;
	config_err(&at, r->err, "%s", what);
	key_mistake(r, err_word(r->err, r->word));
	if (r->text[0] == '[' || !r->keys)
		r->skip = SKIP_SECTION;
}

static int refuse_key(const struct key *keys, const struct location *at, struct err *err)
{
	struct text_guess guess = { .word = at->key };
	char all[512] = "";

	for (; keys->name; keys++) {
		text_add(all, sizeof(all), "%s%s%s", *all ? ", " : "", keys->name, keys->many ? ":ID" : "");
		text_guess(&guess, keys->name);
	}
	if (guess.best)
		return config_err(at, err, "unknown key; similar: %s; valid keys: %s", guess.best, all);
	return config_err(at, err, "unknown key; valid keys: %s", all);
}

static void begin_key(struct reader *r, const char *name)
{
	struct location at = { .file = r->file, .line = r->line, .section = r->name, .key = name };
	int *seen;

	if (!r->keys) {
		fail(r, "'%.80s' is outside of any [section]", r->text);
		return;
	}
	if (!*name) {
		fail(r, "missing key before '='");
		return;
	}
	r->key = config_key(r->keys, name);
	if (!r->key && r->keys->name) {
		key_mistake(r, refuse_key(r->keys, &at, r->err));
		return;
	}
	if (r->key) {
		seen = &r->seen[r->key - r->keys];
		if (*seen && !r->key->many) {
			key_mistake(r, config_err(&at, r->err, "duplicates %s (line %d)", name, *seen));
			return;
		}
		*seen = r->line;
	}
	r->open = true;
	r->key_line = r->value_line = r->line;
	r->len = 0;
}

/* inih's handler: adds the line to the value. Each continuation line of a value begins with '\n'. */
static int take_value(void *user, const char *section, const char *name, const char *value)
{
	struct reader *r = user;
	bool continues = isspace((unsigned char)r->text[0]);
	size_t n, lines;

	(void)section;
	if (!name || !value) /* a new section, if inih is built to report it */
		return 1;
	r->awaited = false;
	if (!continues)
		begin_key(r, name);
	if (!r->open || !r->key)
		return 1;
	value = text_strip(continues ? r->text : r->text + strcspn(r->text, "=:") + 1);
	n = strlen(value);
	lines = (size_t)(r->line - r->value_line);
	if (r->len + lines + n > VALUE_MAX) {
		r->open = false;
		fail(r, "[%s] %s: longer than %d bytes", r->name, name, VALUE_MAX);
		return 1;
	}
	memset(r->value + r->len, '\n', lines);
	memcpy(r->value + r->len + lines, value, n);
	r->len += lines + n;
	r->value_line = r->line;
	return 1;
}

static int take_type(struct draft *draft, const char *type, const struct location *at, struct section **section,
		     struct err *err)
{
	bool vf = strncmp(at->section, "vf_", 3) == 0;
	struct section *s = config_draft_find(draft, type);

	/* A file has at most one section per type. A later file (a drop-in) can repeat the section, to replace keys. */
	if (s && (s->at.file == at->file || s->vf != vf))
		return config_err(at, err, "duplicates [%s] (%s:%d)", s->at.section, s->at.file, s->at.line);
	if (!s && draft->config->nsections == SECTIONS_MAX)
		return config_err(at, err, "more than %d sections", SECTIONS_MAX);
	if (!s) {
		s = config_draft_add(draft, type);
		s->vf = vf;
	}
	s->at = *at;
	*section = s;
	return 0;
}

/* Starts a section. Returns its valid keys, or NULL on an error. *section is NULL if it is not a type's. */
static const struct key *begin_section(struct draft *draft, const struct location *at, struct section **section,
				       struct err *err)
{
	static const struct {
		const char *name;
		const struct key *keys;
	} known[] = {
		{ "devices", config_devices_keys }, { "policy", config_policy_keys }, { "quota", config_quota_keys },
		{ "mdev_", config_mdev_keys },      { "vgpu_", config_mdev_keys },    { "vf_", config_vf_keys },
	};
	char type[TYPE_SIZE];

	*section = NULL;
	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		size_t n = strlen(known[i].name);
		struct location *first;

		if (strncmp(at->section, known[i].name, n) != 0)
			continue;
		if (known[i].name[n - 1] == '_') {
			if (type_parse(type, at->section + n))
				return take_type(draft, type, at, section, err) < 0 ? NULL : known[i].keys;
			config_err(at, err, "'%s' is not a type ID such as nvidia-35", at->section + n);
			return NULL;
		}
		if (at->section[n])
			continue;
		first = &draft->fixed[i];
		if (first->file == at->file) {
			draft->unsure = true;
			config_err(at, err, "duplicates [%s] (%s:%d)", at->section, first->file, first->line);
			return NULL;
		}
		*first = *at;
		return known[i].keys;
	}
	config_err(at, err, "unknown section; valid sections: [devices], [mdev_TYPE], [vf_NAME], [policy], [quota]");
	return NULL;
}

static void take_header(struct reader *r)
{
	static const struct key none[] = { { 0 } };
	size_t n = strcspn(r->text, "]");
	char word[ERR_WORD_SIZE] = "";

	/* Keep the whole type for the error. It may contain blanks: "[mdev_GRID T4-1B]". */
	if (strncmp(r->text, "[mdev_", 6) == 0 || strncmp(r->text, "[vgpu_", 6) == 0)
		snprintf(word, sizeof(word), "%.*s", (int)n - 6, r->text + 6);
	if (n < 2 || n > SECTION_SIZE || strcmp(r->text + n, "]") != 0 || strpbrk(r->text + 1, " \t[")) {
		r->word = word;
		fail(r, "'%.80s' is not a section header: expected [NAME], at most %d characters, no blanks", r->text,
		     SECTION_SIZE - 1);
		r->word = "";
		return;
	}
	r->text[n] = '\0';
	r->name = config_keep(&r->draft->config->names, &r->draft->config->nnames, r->text + 1);
	memset(r->seen, 0, sizeof(r->seen));
	r->keys = begin_section(r->draft, &(struct location){ .file = r->file, .line = r->line, .section = r->name },
				&r->section, r->err);
	if (r->keys)
		return;
	r->keys = none;
	note_mistake(r, err_word(r->err, word));
}

/*
 * Removes trailing white space and a comment. A comment begins with # or ; at the start of the text or after white
 * space. Returns false if nothing is left.
 */
static bool trim(struct reader *r)
{
	char *text = r->text;

	if (text[strspn(text, " \t\r")] == '\0') {
		end_key(r);
		return false;
	}
	for (char *c = text; *c; c++)
		if ((*c == '#' || *c == ';') && (c == text || isspace((unsigned char)c[-1])))
			*c = '\0';
	return *text_strip(text);
}

static bool check_line(struct reader *r)
{
	for (const char *s = r->text; *s; s++)
		if (iscntrl((unsigned char)*s) && *s != '\t') {
			fail(r, "unexpected control character (%02x)", (unsigned char)*s);
			return false;
		}
	if (isspace((unsigned char)r->text[0]) && !r->open) {
		fail(r, "indented line without a key above to continue");
		return false;
	}
	return true;
}

/* Does the line end the value above? Indented lines continue the value; comments may be between them. */
static bool begins_anew(const char *line)
{
	return !isspace((unsigned char)line[0]) && line[0] != '#' && line[0] != ';';
}

static void copy_line(struct reader *r)
{
	const char *raw = r->at, *eol = memchr(raw, '\n', (size_t)(r->end - raw));
	size_t len = (size_t)((eol ? eol : r->end) - raw);

	r->line++;
	r->at += len + (eol != NULL);
	free(r->text);
	r->text = mem_strndup(raw, len);
	if (r->text[0] == '[' || (r->skip == SKIP_VALUE && begins_anew(r->text)))
		r->skip = SKIP_NONE;
	if (!r->skip && memchr(raw, '\0', len))
		fail(r, "unexpected NUL byte: not a text file");
}

/* Reads one line. True: inih should split it. */
static bool take_line(struct reader *r)
{
	copy_line(r);
	if (begins_anew(r->text))
		end_key(r);
	if (r->failed || r->skip || !trim(r) || !check_line(r))
		return false;
	if (r->text[0] == '[')
		take_header(r);
	return r->text[0] != '[';
}

/* inih calls this instead of fgets(). Puts '|' before a continuation line, which inih might take for a comment. */
static char *next_line(char *line, int size, void *stream)
{
	struct reader *r = stream;
	bool found = false;

	if (r->awaited)
		fail(r, "'%.80s': expected 'key = value', [section] or # comment", r->text);
	while (!found && !r->failed && r->at < r->end)
		found = take_line(r);
	if (!found || r->failed) {
		end_key(r);
		return NULL;
	}
	snprintf(line, (size_t)size, "%s%.*s\n", isspace((unsigned char)r->text[0]) ? " |" : "", size - 4, r->text);
	r->awaited = true;
	return line;
}

int config_ini_read(struct draft *draft, const char *name, const char *text, size_t len, struct err *err)
{
	autofree char *value = mem_alloc(VALUE_MAX + 1);
	struct config *config = draft->config;
	struct reader r = { .draft = draft,
			    .err = err,
			    .file = config_keep(&config->files, &config->nfiles, name),
			    .at = text,
			    .end = text + len,
			    .value = value,
			    .word = "" };

	if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) /* skip the byte order mark that some editors write */
		r.at += 3;
	ini_parse_stream(next_line, &r, take_value, &r);
	/* inih stops when out of memory, and in some builds at an error, but a file must be read as a whole. */
	if (!r.failed && (r.awaited || r.at < r.end))
		fail(&r, "libinih stopped reading here");
	free(r.text);
	return r.failed;
}
