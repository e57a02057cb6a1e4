/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Splits text into sections, keys and values, in place. A nova.conf is read by the rules of oslo.config's parser
 * (oslo_config/iniparser.py). inih is used only to split a single line into key and value: by itself it would silently
 * truncate long lines and section names, skip empty sections, and read an indented [section] as a value.
 *
 * In all files, an indented line continues the value above, and an empty line ends it. In our files, a comment can
 * follow a value or be between its lines, and reading continues after a mistake. In a nova.conf, a comment is a line of
 * its own and ends the value. A malformed line in any section of a nova.conf is refused, because Nova would not start.
 * No message quotes a malformed line, because a nova.conf has passwords and libvirt passes the message on.
 */
#include <ctype.h>
#include <ini.h>
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
	char *next, *end;     /* the text that is not read yet */
	char *line;           /* the current line */
	size_t length;        /* of the line, with NUL bytes */
	struct location here; /* file and line */
	const char *section;  /* name of the current section; NULL: none yet */
	bool skips;           /* until the next section, because of a mistake */

	/* In our files: */
	struct section *type;   /* the section of a type; NULL: in another section */
	const struct key *keys; /* the section's valid keys */
	int seen[KEYS_MAX];     /* the line of each valid key in the section; 0: not seen */
	int fixed[3];           /* the lines of [devices], [policy] and [quota]; 0: not seen */
};

/* Goes to the next line, and ends it with a NUL. False: the text has ended. */
static bool next_line(struct reader *r)
{
	char *eol = r->next;

	if (r->next == r->end)
		return false;
	while (eol < r->end && *eol != '\n' && !(r->nova && *eol == '\r'))
		eol++;
	r->line = r->next;
	r->length = (size_t)(eol - r->line);
	r->next = eol < r->end ? eol + 1 + (*eol == '\r' && eol[1] == '\n') : eol;
	*eol = '\0';
	r->here.line++;
	return true;
}

/*
 * Does the next line continue a value? In our files, comments can be between its lines. To Nova, a line of any white
 * space is empty, which ends the value.
 */
static bool continues(const struct reader *r)
{
	const char *text = r->next + strspn(r->next, r->nova ? " \t\f\v" : " \t");
	bool indented = *r->next == ' ' || *r->next == '\t';

	return *text && *text != '\n' && *text != '\r' && (indented || (!r->nova && (*text == '#' || *text == ';')));
}

/* Removes a comment: a # or ; at the start of the line or after white space, and what follows it. */
static void cut_comment(char *line)
{
	for (char *c = line; *c; c++)
		if ((*c == '#' || *c == ';') && (c == line || isspace((unsigned char)c[-1])))
			*c = '\0';
}

/* Returns the line without a comment of ours and white space around it. NULL: it has a mistake. */
static char *line_text(struct reader *r)
{
	char *text;

	if (strlen(r->line) < r->length) {
		config_mistake(r->draft, &r->here, "unexpected NUL byte: not a text file");
		return NULL;
	}
	if (!r->nova)
		cut_comment(r->line);
	text = text_strip(r->line);
	for (const char *s = r->line; !r->nova && *text && *s; s++)
		if (iscntrl((unsigned char)*s) && *s != '\t') {
			config_mistake(r->draft, &r->here, "unexpected control character (%02x)", (unsigned char)*s);
			return NULL;
		}
	return text;
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

static int find_key(struct reader *r, struct setting *t)
{
	int *seen;

	t->key = config_key(r->keys, t->at.key);
	if (!t->key)
		return refuse_key(r, &t->at);
	seen = &r->seen[t->key - r->keys];
	if (*seen && !t->key->many)
		return config_mistake(r->draft, &t->at, "duplicates %s (line %d)", t->at.key, *seen);
	*seen = t->at.line;
	t->at.key = t->key->name;
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

/* Appends the lines that continue the value, after a '\n' for each line. Each of them had one, so there is space. */
static int continue_value(struct reader *r, char *value)
{
	char *end = value + strlen(value);
	int last = r->here.line;

	while (continues(r) && next_line(r)) {
		const char *text = line_text(r);

		if (!text)
			return -EINVAL;
		if (!*text)
			continue;
		for (; last < r->here.line; last++)
			*end++ = '\n';
		memmove(end, text, strlen(text) + 1);
		end += strlen(end);
	}
	return 0;
}

/* Sets a key of ours. The keys of a nova.conf are set after all files are read. */
static int take_value(struct reader *r, const char *name, char *value)
{
	struct setting t = { .draft = r->draft, .section = r->type };

	t.at = (struct location){ r->here.file, r->here.line, r->section, name, r->nova };
	if (r->nova) {
		value = unquote(value);
		return config_nova_take(r->draft, &t.at, value) < 0 ? -EINVAL : continue_value(r, value);
	}
	if (find_key(r, &t) == 0 && continue_value(r, value) == 0 && config_key_set(&t, value) == 0)
		return 0;
	r->draft->unsure |= r->keys == config_devices_keys;
	return -EINVAL;
}

/* inih's handler. Copies the key. inih may have only the start of a long value. */
static int take_name(void *user, const char *section, const char *name, const char *value)
{
	(void)section;
	return name && value && text_copy(user, INIH_SIZE, name);
}

static int take_pair(struct reader *r, char *line)
{
	char start[INIH_SIZE], name[INIH_SIZE] = "";

	/* The first line is empty, because inih skips a byte order mark in the first line. */
	snprintf(start, sizeof(start), "\n%s", line);
	if (ini_parse_string(start, take_name, name) != 0)
		return config_mistake(r->draft, &r->here, "expected 'key = value', [section] or # comment");
	if (!*name)
		return config_mistake(r->draft, &r->here, "missing key before '='");
	if (!r->section)
		return config_mistake(r->draft, &r->here, "outside of any [section]");
	return take_value(r, name, text_strip(line + strcspn(line, "=:") + 1));
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

static int take_header(struct reader *r, char *text)
{
	struct location at = r->here;
	size_t n = strlen(text);

	if (n <= 2 || text[n - 1] != ']' || (!r->nova && (n - 2 > SECTION_MAX || strcspn(text + 1, " \t[]") != n - 2)))
		return config_mistake(
			r->draft, &at,
			r->nova ? "not a section header: expected [NAME] and nothing after it"
				: "not a section header: expected [NAME], at most %d characters, no blanks",
			SECTION_MAX);
	text[n - 1] = '\0';
	at.section = r->section = config_keep(&r->draft->config->names, &r->draft->config->nnames, text + 1);
	at.nova = r->nova;
	return r->nova ? config_nova_take(r->draft, &at, NULL) : begin_section(r, &at);
}

static int take_line(struct reader *r)
{
	bool indented = r->line[0] == ' ' || r->line[0] == '\t';
	char word[ERR_WORD_SIZE] = "", *text = line_text(r);

	if (!text)
		return -EINVAL;
	if (!*text || (!indented && strchr("#;", *text)))
		return 0;
	if (indented)
		return config_mistake(r->draft, &r->here, "indented line without a key above to continue");
	if (*text != '[')
		return take_pair(r, text);
	/* Keep the whole type for the message, even with blanks: "[mdev_GRID T4-1B]". */
	if (strncmp(text, "[mdev_", 6) == 0 || strncmp(text, "[vgpu_", 6) == 0)
		snprintf(word, sizeof(word), "%.*s", (int)strcspn(text + 6, "]"), text + 6);
	return take_header(r, text) < 0 ? config_mistake_word(r->draft, word) : 0;
}

/* After a mistake, the rest of the value or section is skipped, or of a nova.conf. */
void config_ini_read(struct draft *draft, const char *name, bool nova, char *text, size_t len)
{
	struct config *config = draft->config;
	struct reader r = { .draft = draft, .nova = nova, .next = text, .end = text + len };

	r.here.file = config_keep(&config->files, &config->nfiles, name);
	if (!nova && len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) /* skip the byte order mark of some editors */
		r.next += 3;
	while (next_line(&r)) {
		bool header = r.line[strspn(r.line, " \t")] == '[';

		r.skips = r.skips && r.line[0] != '[';
		if (r.skips || take_line(&r) == 0)
			continue;
		r.skips = header || !r.section;
		while (!r.skips && continues(&r))
			next_line(&r);
		if (!nova)
			continue;
		draft->unsure = true;
		return;
	}
}
