/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Splits a text into sections, keys and values, in place: our files, and a nova.conf by the rules of oslo.config's
 * parser (oslo_config/iniparser.py).
 *
 * In both, an indented line continues the value above. In our files, comments can follow a value and be between its
 * lines, and each mistake is noted. In a nova.conf, a comment is a line of its own, which ends the value; a malformed
 * line is refused in any section, because Nova would not start.
 */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "base/auto.h"
#include "base/text.h"
#include "internal.h"

struct reader {
	struct draft *draft;
	struct err *err;
	bool nova;
	const char *file, *name; /* `name`: the current section; NULL: before the first */
	int line;
	bool header;                                       /* the line begins with a bracket */
	int failed;                                        /* the negative errno that stops reading */
	enum { SKIP_NONE, SKIP_VALUE, SKIP_SECTION } skip; /* until the next key or section */

	char *value, *end; /* the value so far; end NULL: none that an indented line would continue */
	int end_line;      /* the line that `end` is on */

	/* Of our files: */
	struct section *section;
	const struct key *keys, *key; /* of the section; of `value` */
	int key_line, seen[KEYS_MAX]; /* the lines of `value`, and of each key in the section */
};

static struct location here(const struct reader *r, const char *key)
{
	return (struct location){
		.file = r->file, .line = r->line, .section = key ? r->name : NULL, .key = key, .nova = key && r->nova
	};
}

/* Notes a mistake, and skips what belongs to it. */
static void mistake(struct reader *r, int e, int skip)
{
	r->skip = skip;
	r->end = NULL;
	if (!r->nova)
		e = config_mistake(r->draft, e, r->err);
	if (e < 0)
		r->failed = e;
}

/* Sets the key, now that its value is complete. Those of a nova.conf are set when all its files are read. */
static void end_value(struct reader *r)
{
	struct setting t = { .draft = r->draft, .section = r->section, .key = r->key, .err = r->err };
	int e;

	if (!r->end || r->nova)
		return;
	t.at = (struct location){ .file = r->file, .line = r->key_line, .section = r->name, .key = r->key->name };
	e = config_key_set(&t, r->value);
	r->draft->unsure |= e < 0 && r->keys == config_devices_keys;
	mistake(r, e, SKIP_NONE);
}

/* Notes a line that cannot be read. `word` of it could be a type; "" none. */
__attribute__((format(printf, 3, 4))) static void fail(struct reader *r, const char *word, const char *fmt, ...)
{
	const struct location at = here(r, NULL);
	char what[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	end_value(r);
	if (r->failed)
		return;
	r->draft->unsure = true;
	config_err(&at, r->err, "%s", what);
	mistake(r, err_word(r->err, word), r->name && !r->header ? SKIP_VALUE : SKIP_SECTION);
}

/* A name of ours has neither blanks nor brackets in it. */
static bool is_header(const struct reader *r, const char *text)
{
	size_t n = strlen(text);

	return n > 2 && text[n - 1] == ']' && (r->nova || strcspn(text + 1, " \t[]") == n - 2);
}

static void take_header(struct reader *r, char *text)
{
	char word[ERR_WORD_SIZE] = "";
	struct location at;

	/* For the error keep the whole type, which may contain blanks: "[mdev_GRID T4-1B]". */
	if (strncmp(text, "[mdev_", 6) == 0 || strncmp(text, "[vgpu_", 6) == 0)
		snprintf(word, sizeof(word), "%.*s", (int)strcspn(text + 6, "]"), text + 6);
	if (!is_header(r, text)) {
		fail(r, word, "'%.80s' is not a section header: expected [NAME]%s", text,
		     r->nova ? " and nothing after it" : " without blanks");
		return;
	}
	text[strlen(text) - 1] = '\0';
	r->name = config_keep(&r->draft->config->names, &r->draft->config->nnames, text + 1);
	at = here(r, NULL);
	at.section = r->name;
	at.nova = r->nova;
	if (r->nova) {
		mistake(r, config_nova_take(r->draft, &at, NULL, r->err), SKIP_NONE);
		return;
	}
	memset(r->seen, 0, sizeof(r->seen));
	r->keys = config_draft_section(r->draft, &at, &r->section, r->err);
	if (!r->keys)
		mistake(r, err_word(r->err, word), SKIP_SECTION);
}

/* Finds the key of our section. */
static int find_key(struct reader *r, const struct location *at)
{
	int *seen;

	r->key = config_key(r->keys, at->key);
	if (!r->key)
		return config_key_unknown(r->keys, at, r->err);
	seen = &r->seen[r->key - r->keys];
	if (*seen && !r->key->many)
		return config_err(at, r->err, "duplicates %s (line %d)", at->key, *seen);
	*seen = r->key_line = r->line;
	return 0;
}

/* oslo.config removes quotes around the first line of a value. */
static char *unquote(char *value)
{
	size_t n = strlen(value);

	if (n < 2 || (*value != '"' && *value != '\'') || value[n - 1] != *value)
		return value;
	value[n - 1] = '\0';
	return value + 1;
}

static void take_key(struct reader *r, char *text)
{
	size_t n = strcspn(text, "=:");
	struct location at;
	int e;

	if (!text[n]) {
		fail(r, "", "'%.80s': expected 'key = value', [section] or # comment", text);
		return;
	}
	if (!r->name) {
		fail(r, "", "'%.80s' is outside of any [section]", text);
		return;
	}
	text[n] = '\0';
	at = here(r, text_strip(text));
	r->value = text_strip(text + n + 1);
	if (r->nova)
		r->value = unquote(r->value);
	if (!*at.key) {
		fail(r, "", "missing key before '='");
		return;
	}
	e = r->nova ? config_nova_take(r->draft, &at, r->value, r->err) : find_key(r, &at);
	if (e < 0) {
		r->draft->unsure |= r->keys == config_devices_keys;
		mistake(r, e, SKIP_VALUE);
		return;
	}
	r->end = r->value + strlen(r->value);
	r->end_line = r->line;
}

/* Each line of a value begins with '\n'. There is space for it: the text before the line is no longer needed. */
static void continue_value(struct reader *r, const char *text)
{
	size_t n = strlen(text), lines = (size_t)(r->line - r->end_line);

	memset(r->end, '\n', lines);
	memmove(r->end + lines, text, n + 1);
	r->end += lines + n;
	r->end_line = r->line;
}

/* Removes a comment, which starts with # or ; at the start of the text or after white space. */
static void cut_comment(char *s)
{
	for (char *c = s; *c; c++)
		if ((*c == '#' || *c == ';') && (c == s || isspace((unsigned char)c[-1])))
			*c = '\0';
}

static unsigned int control_in(const char *s)
{
	while (*s && (!iscntrl((unsigned char)*s) || *s == '\t'))
		s++;
	return (unsigned char)*s;
}

static void take_line(struct reader *r, char *line)
{
	bool indented = *line == ' ' || *line == '\t', blank = !line[strspn(line, " \t\r")];
	char *text;

	if (!r->nova)
		cut_comment(line);
	text = text_strip(line);
	if (!r->nova && !blank && !*text) /* a comment, which may be between the lines of a value */
		return;
	if (!r->nova && !blank && control_in(line)) {
		fail(r, "", "unexpected control character (%02x)", control_in(line));
		return;
	}
	if (indented && *text && r->end) {
		continue_value(r, text);
		return;
	}
	end_value(r);
	r->end = NULL;
	if (r->failed || blank || (indented && !*text))
		return;
	if (indented)
		fail(r, "", "indented line without a key above to continue");
	else if (*text == '[')
		take_header(r, text);
	else if (*text != '#' && *text != ';')
		take_key(r, text);
}

/* Does the line end what is skipped? */
static bool ends_skip(const struct reader *r, const char *line)
{
	return r->header || (r->skip == SKIP_VALUE && !isspace((unsigned char)*line) && *line != '#' && *line != ';');
}

int config_ini_read(struct draft *draft, const struct source *source, char *text, size_t len, struct err *err)
{
	struct config *config = draft->config;
	struct reader r = { .draft = draft,
			    .err = err,
			    .nova = source->dialect == DIALECT_NOVA,
			    .file = config_keep(&config->files, &config->nfiles, source->name) };
	char *end = text + len, *next;

	if (!r.nova && len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) /* the byte order mark of some editors */
		text += 3;
	for (char *line = text; !r.failed && line < end; line = next) {
		char *eol = line;

		while (eol < end && *eol != '\n' && !(r.nova && *eol == '\r'))
			eol++;
		next = eol + 1 + (*eol == '\r' && eol[1] == '\n');
		*eol = '\0';
		r.line++;
		r.header = *line == '[';
		if (ends_skip(&r, line))
			r.skip = SKIP_NONE;
		if (r.skip)
			continue;
		if (memchr(line, '\0', (size_t)(eol - line)))
			fail(&r, "", "unexpected NUL byte: not a text file");
		else
			take_line(&r, line);
	}
	if (!r.failed)
		end_value(&r);
	return r.failed;
}
