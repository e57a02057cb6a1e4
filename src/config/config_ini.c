/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Splits text into sections, keys and values, in place. A nova.conf is read by the rules of oslo.config's parser
 * (oslo_config/iniparser.py). inih is used only to split a single line into key and value: by itself it would silently
 * truncate long lines and section names, skip empty sections, and read an indented [section] as a value.
 *
 * In all files, an indented line continues the value above, and an empty line ends it. In our files, a comment can
 * follow a value or be between its lines, and reading continues after a mistake. In a nova.conf, a comment is a line of
 * its own and ends the value. A malformed line in any section of a nova.conf is refused, because Nova would not start.
 */
#include <ctype.h>
#include <ini.h>
#include <stdarg.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "internal.h"

enum {
	SECTION_MAX = 49,
	INIH_SIZE = 199, /* inih reads at most one character less */
};

struct reader {
	struct draft *draft;
	bool nova;
	const char *file;
	char *line;
	int number;
	enum { SKIP_NONE, SKIP_VALUE, SKIP_SECTION, SKIP_FILE } skip; /* because of a mistake */
	bool is_key;                                                  /* inih has found a key in the current line */
	const char *section;                                          /* name of the current section; NULL: none yet */

	/* The value that an indented line would continue (NULL: none), its end, and its last line's number. */
	char *value, *end;
	int end_number;

	/* In our files: */
	struct section *type;         /* the section of a type; NULL: in another section */
	const struct key *keys, *key; /* the section's valid keys; the key of `value` */
	int seen[KEYS_MAX];           /* the line of each valid key in the section; 0: not seen */
	int fixed[3];                 /* the lines of [devices], [policy] and [quota]; 0: not seen */
};

/* Skips the rest of a value or section that has a mistake, or of a nova.conf. */
static void skip(struct reader *r, int what)
{
	r->value = NULL;
	r->skip = r->nova ? SKIP_FILE : what;
	r->draft->unsure |= r->nova;
}

/* Sets the key, now that its value is complete. The keys of a nova.conf are set after all files are read. */
static void end_value(struct reader *r)
{
	struct setting t = { .draft = r->draft, .section = r->type, .key = r->key };

	if (r->value && !r->nova) {
		t.at = (struct location){ r->file, r->seen[r->key - r->keys], r->section, r->key->name, false };
		if (config_key_set(&t, r->value) < 0)
			r->draft->unsure |= r->keys == config_devices_keys;
	}
	r->value = NULL;
}

/* Reports a line that cannot be read. `word`: a word in it that may be meant as a type; "" none. */
__attribute__((format(printf, 3, 4))) static void fail(struct reader *r, const char *word, const char *fmt, ...)
{
	const struct location at = { .file = r->file, .line = r->number };
	char what[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	end_value(r);
	r->draft->unsure = true;
	config_mistake(r->draft, &at, "%s", what);
	config_mistake_word(r->draft, word);
	skip(r, r->line[0] == '[' || !r->section ? SKIP_SECTION : SKIP_VALUE);
}

static int refuse_key(const struct reader *r, const struct location *at)
{
	struct text_guess guess = { .word = at->key };
	char all[512] = "";

	for (const struct key *key = r->keys; key->name; key++) {
		text_add(all, sizeof(all), "%s%s%s", *all ? ", " : "", key->name, key->many ? ":ID" : "");
		text_guess(&guess, key->name);
	}
	if (guess.best)
		return config_mistake(r->draft, at, "unknown key; similar: %s; valid keys: %s", guess.best, all);
	return config_mistake(r->draft, at, "unknown key; valid keys: %s", all);
}

static int find_key(struct reader *r, const struct location *at)
{
	int *seen;

	r->key = config_key(r->keys, at->key);
	if (!r->key)
		return refuse_key(r, at);
	seen = &r->seen[r->key - r->keys];
	if (*seen && !r->key->many)
		return config_mistake(r->draft, at, "duplicates %s (line %d)", at->key, *seen);
	*seen = r->number;
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

static void begin_value(struct reader *r, const struct location *at)
{
	char *value = text_strip(r->line + strcspn(r->line, "=:") + 1);
	int e;

	if (r->nova)
		value = unquote(value);
	e = r->nova ? config_nova_take(r->draft, at, value) : find_key(r, at);
	if (e < 0) {
		r->draft->unsure |= r->keys == config_devices_keys;
		skip(r, SKIP_VALUE);
		return;
	}
	r->value = value;
	r->end = value + strlen(value);
	r->end_number = r->number;
}

/* inih's handler. Takes the value from the line itself, because inih may have only the start of a long line. */
static int take_key(void *user, const char *section, const char *name, const char *value)
{
	struct reader *r = user;
	const struct location at = { r->file, r->number, r->section, name, r->nova };

	(void)section;
	if (!name || !value || r->is_key)
		return 1;
	r->is_key = true;
	if (!*name)
		fail(r, "", "missing key before '='");
	else if (!r->section)
		fail(r, "", "'%.80s' is outside of any [section]", r->nova ? name : r->line);
	else
		begin_value(r, &at);
	return 1;
}

static void take_pair(struct reader *r)
{
	char start[INIH_SIZE];

	/* The first line is empty, because inih skips a byte order mark in the first line. */
	snprintf(start, sizeof(start), "\n%s", r->line);
	r->is_key = false;
	ini_parse_string(start, take_key, r);
	if (!r->is_key)
		fail(r, "", "'%.80s': expected 'key = value', [section] or # comment", r->line);
}

/* Adds a '\n' for each line since the value's last line. There is space, because each line had a '\n' of its own. */
static void continue_value(struct reader *r, const char *text)
{
	size_t n = strlen(text), lines = (size_t)(r->number - r->end_number);

	memset(r->end, '\n', lines);
	memmove(r->end + lines, text, n + 1);
	r->end += lines + n;
	r->end_number = r->number;
}

static int take_type(struct reader *r, const char *type, const struct location *at)
{
	bool vf = strncmp(at->section, "vf_", 3) == 0;
	struct section *s = config_draft_find(r->draft, type);

	/* A file has at most one section per type. A later file, such as a drop-in, can repeat it to replace keys. */
	if (s && (s->at.file == at->file || s->vf != vf))
		return config_mistake(r->draft, at, "duplicates [%s] (%s:%d)", s->at.section, s->at.file, s->at.line);
	if (!s && r->draft->config->nsections == SECTIONS_MAX)
		return config_mistake(r->draft, at, "more than %d sections", SECTIONS_MAX);
	r->type = s ? s : config_draft_add(r->draft, type);
	r->type->vf = vf;
	r->type->at = *at;
	return 0;
}

static int begin_section(struct reader *r, const struct location *at)
{
	static const struct {
		const char *name;
		const struct key *keys;
	} known[] = {
		{ "devices", config_devices_keys }, { "policy", config_policy_keys }, { "quota", config_quota_keys },
		{ "mdev_", config_mdev_keys },      { "vgpu_", config_mdev_keys },    { "vf_", config_vf_keys },
	};
	char type[TYPE_SIZE];

	r->type = NULL;
	memset(r->seen, 0, sizeof(r->seen));
	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		size_t n = strlen(known[i].name);
		if (strncmp(at->section, known[i].name, n) != 0)
			continue;
		r->keys = known[i].keys;
		if (known[i].name[n - 1] == '_')
			return type_parse(type, at->section + n)
				       ? take_type(r, type, at)
				       : config_mistake(r->draft, at, "'%s' is not a type ID such as nvidia-35",
							at->section + n);
		if (at->section[n])
			continue;
		if (r->fixed[i]) {
			r->draft->unsure = true;
			return config_mistake(r->draft, at, "duplicates [%s] (%s:%d)", at->section, at->file,
					      r->fixed[i]);
		}
		r->fixed[i] = at->line;
		return 0;
	}
	return config_mistake(r->draft, at,
			      "unknown section; valid sections: [devices], [mdev_TYPE], [vf_NAME], [policy], [quota]");
}

static bool is_header(const struct reader *r, const char *text)
{
	size_t n = strlen(text);

	return n > 2 && text[n - 1] == ']' &&
	       (r->nova || (n - 2 <= SECTION_MAX && strcspn(text + 1, " \t[]") == n - 2));
}

static void take_header(struct reader *r)
{
	struct location at = { .file = r->file, .line = r->number, .nova = r->nova };
	char *text = r->line, word[ERR_WORD_SIZE] = "";

	/* Keep the whole type for the message, even with blanks: "[mdev_GRID T4-1B]". */
	if (strncmp(text, "[mdev_", 6) == 0 || strncmp(text, "[vgpu_", 6) == 0)
		snprintf(word, sizeof(word), "%.*s", (int)strcspn(text + 6, "]"), text + 6);
	if (!is_header(r, text)) {
		fail(r, word,
		     r->nova ? "'%.80s' is not a section header: expected [NAME] and nothing after it"
			     : "'%.80s' is not a section header: expected [NAME], at most %d characters, no blanks",
		     text, SECTION_MAX);
		return;
	}
	text[strlen(text) - 1] = '\0';
	at.section = r->section = config_keep(&r->draft->config->names, &r->draft->config->nnames, text + 1);
	if (r->nova) {
		if (config_nova_take(r->draft, &at, NULL) < 0)
			skip(r, SKIP_SECTION);
		return;
	}
	if (begin_section(r, &at) == 0)
		return;
	config_mistake_word(r->draft, word);
	skip(r, SKIP_SECTION);
}

/* Removes a comment: a # or ; at the start of the line or after white space, and what follows it. */
static void cut_comment(char *line)
{
	for (char *c = line; *c; c++)
		if ((*c == '#' || *c == ';') && (c == line || isspace((unsigned char)c[-1])))
			*c = '\0';
}

static bool has_control(struct reader *r)
{
	for (const char *s = r->line; *s; s++)
		if (iscntrl((unsigned char)*s) && *s != '\t') {
			fail(r, "", "unexpected control character (%02x)", (unsigned char)*s);
			return true;
		}
	return false;
}

static void take_line(struct reader *r)
{
	bool indented = r->line[0] == ' ' || r->line[0] == '\t', blank = !r->line[strspn(r->line, " \t\r")];
	char *text;

	if (!r->nova)
		cut_comment(r->line);
	text = text_strip(r->line);
	/* A comment in our files does not end the value. */
	if (!r->nova && !blank && (!*text || has_control(r)))
		return;
	if (indented && *text && r->value) {
		continue_value(r, text);
		return;
	}
	end_value(r);
	if (!*text || (!indented && strchr("#;", *text)))
		return;
	r->line = text;
	if (indented)
		fail(r, "", "indented line without a key above to continue");
	else if (*text == '[')
		take_header(r);
	else
		take_pair(r);
}

void config_ini_read(struct draft *draft, const char *name, bool nova, char *text, size_t len)
{
	struct config *config = draft->config;
	struct reader r = { .draft = draft, .nova = nova, .file = config_keep(&config->files, &config->nfiles, name) };
	char *end = text + len, *next;

	if (!r.nova && len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) /* skip the byte order mark of some editors */
		text += 3;
	for (r.line = text; r.skip != SKIP_FILE && r.line < end; r.line = next) {
		char *eol = r.line;

		while (eol < end && *eol != '\n' && !(r.nova && *eol == '\r'))
			eol++;
		next = eol + 1 + (*eol == '\r' && eol[1] == '\n');
		*eol = '\0';
		r.number++;
		/* A comment line does not end a value. */
		if (r.line[0] == '[' || (r.skip == SKIP_VALUE && !isspace((unsigned char)r.line[0]) &&
					 r.line[0] != '#' && r.line[0] != ';'))
			r.skip = SKIP_NONE;
		if (r.skip)
			continue;
		if (memchr(r.line, '\0', (size_t)(eol - r.line)))
			fail(&r, "", "unexpected NUL byte: not a text file");
		else
			take_line(&r);
	}
	end_value(&r);
}
