/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Text to sections, keys and values, with inih.
 *
 * Left alone, inih cuts long lines and section names silently, goes on after errors, knows no line numbers in its
 * handler, skips empty sections, and takes an indented [section] for a value. So it never sees the file: it gets each
 * line from next_line() here, checked, without its comment, and in pieces that fit; the line that is being read is
 * then known to the handler, too. A value in pieces, and lines that continue a value, are given to it as the same key
 * again, and are put together in take_piece().
 */
#include <ctype.h>
#include <errno.h>
#include <ini.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/auto.h"
#include "internal.h"
#include "base/text.h"

enum { SECTIONS_MAX = 1024, ENTRIES_MAX = 4096, VALUE_MAX = 65536 };

struct reader {
	struct ini *ini;
	struct config_notes *mistakes; /* NULL: the first one ends it */
	struct err *err;
	const char *file, *at, *end;
	int line;
	enum dialect dialect;
	bool failed;
	bool open;         /* a line that begins with white space continues the key above */
	bool skip;         /* in a section of nova.conf that is not ours to read */
	bool lost;         /* behind a mistake: what follows belongs to what could not be read */
	bool lost_section; /* up to the next section, not only to the end of the value */
	int broken;        /* the line that continues a value and is being read; 0: none is */
	char *text;        /* a copy of the line */
	char *rest;        /* what of its value inih has not got yet; NULL: nothing */
	char key[INI_NAME_SIZE];
	const char *glue; /* stands between the value so far and the next piece; NULL: a new key */
	size_t piece;     /* the length of the piece that inih has */
	bool waiting;     /* the handler did not see it yet */
};

static int fail(struct reader *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static int fail(struct reader *r, const char *fmt, ...)
{
	char what[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	r->failed = true;
	err_set(r->err, EINVAL, "%s:%d: %s", r->file, r->line, what);
	return err_at(r->err, (size_t)snprintf(NULL, 0, "%s:%d: ", r->file, r->line));
}

static int no_memory(struct reader *r)
{
	r->failed = true;
	return err_sys(r->err, ENOMEM, "%s:%d", r->file, r->line);
}

/* Cuts off a comment: a # or ; at the start or behind white space. */
static void cut_comment(char *s)
{
	for (char *c = s; *c; c++)
		if ((*c == '#' || *c == ';') && (c == s || isspace((unsigned char)c[-1]))) {
			*c = '\0';
			return;
		}
}

/* Each run of white space becomes one blank, so that a value can be cut for inih between two other characters. */
static void squeeze(char *s)
{
	char *to = s;

	for (; *s; s++)
		if (!isspace((unsigned char)*s))
			*to++ = *s;
		else if (to[-1] != ' ') /* values are stripped: never at the start */
			*to++ = ' ';
	*to = '\0';
}

static bool is_shared(const char *header)
{
	if (strncasecmp(header, "[devices", 8) == 0)
		return !isalnum((unsigned char)header[8]) && !strchr("_-.", header[8] ? header[8] : ']');
	return strncasecmp(header, "[mdev_", 6) == 0 || strncasecmp(header, "[vgpu_", 6) == 0;
}

static int take_header(struct reader *r, char *line)
{
	char *name = line + 1, *end = strchr(line, ']');
	struct ini_section *section;

	if (!end)
		return fail(r, "'%.80s': the ']' is missing", line);
	if (end[1])
		return fail(r, "'%.80s': nothing may stand behind the ']'", line);
	*end = '\0';
	if (!*name || strpbrk(name, " \t["))
		return fail(r, "[%.80s] is no name of a section", name);
	if (strlen(name) >= INI_NAME_SIZE)
		return fail(r, "[%.80s]: a section's name has at most %d characters", name, INI_NAME_SIZE - 1);
	for (size_t i = 0; i < r->ini->nsections; i++)
		if (strcmp(r->ini->sections[i].name, name) == 0)
			return fail(r, "[%s] comes a second time, first in line %d: make one section of them", name,
				    r->ini->sections[i].line);
	if (r->ini->nsections == SECTIONS_MAX)
		return fail(r, "more than %d sections", SECTIONS_MAX);
	section = list_add(&r->ini->sections, &r->ini->nsections, sizeof(*section));
	if (!section)
		return no_memory(r);
	text_copy(section->name, sizeof(section->name), name);
	section->line = r->line;
	r->open = false;
	return 0;
}

static int take_key(struct reader *r, char *line)
{
	char *sep = strpbrk(line, "=:"), *value;
	size_t n;

	if (!sep)
		return fail(r, "'%.80s' is neither 'key = value' nor a [section] nor a # comment", line);
	if (r->ini->nsections == 0)
		return fail(r, "'%.80s' stands before the first [section]", line);
	*sep = '\0';
	value = text_strip(sep + 1);
	line = text_strip(line);
	if (!*line)
		return fail(r, "the key is missing");
	if (!text_copy(r->key, sizeof(r->key), line))
		return fail(r, "'%.80s' is longer than any key", line);
	n = strlen(value);
	if (r->dialect == DIALECT_NOVA && n >= 2 && (*value == '"' || *value == '\'') && value[n - 1] == *value) {
		value[n - 1] = '\0';
		value = text_strip(value + 1);
	}
	r->rest = value;
	r->glue = NULL;
	r->open = true;
	return 0;
}

static int take_continuation(struct reader *r, char *line)
{
	if (!r->open)
		return fail(r, "the line begins with white space, but there is no key above that it could continue");
	r->rest = text_strip(line);
	r->glue = " ";
	r->broken = r->line;
	return 0;
}

/* Behind a mistake, what belongs to it is left out. Is this line to be read again? */
static bool is_lost(struct reader *r)
{
	if (!r->lost)
		return false;
	r->lost = r->lost_section ? r->text[0] != '[' : isspace((unsigned char)r->text[0]);
	return r->lost;
}

/* Goes on behind a line that could not be read, where all mistakes are asked for. */
static void recover(struct reader *r)
{
	if (config_mistake(r->mistakes, -r->err->code, r->err) < 0)
		return;
	r->failed = false;
	r->rest = NULL;
	r->open = false;
	r->lost = true;
	r->lost_section = r->text[0] == '[' || r->ini->nsections == 0;
}

/* Ours: comments may stand anywhere. Returns false where the line has nothing to say. */
static bool trim_ours(struct reader *r)
{
	bool blank = !*text_strip(r->text);

	cut_comment(r->text);
	if (blank)
		r->open = false;
	return r->text[strspn(r->text, " \t\r")] != '\0';
}

/* As oslo.config does: comments are whole lines and not indented, and end the value above, as blank lines do. */
static bool trim_nova(struct reader *r)
{
	bool empty = r->text[0] == '#' || r->text[0] == ';' || r->text[strspn(r->text, " \t\r")] == '\0';

	if (empty)
		r->open = false;
	return !empty;
}

static int check_line(struct reader *r)
{
	for (const char *s = r->text; *s; s++) {
		if (iscntrl((unsigned char)*s) && *s != '\t')
			return fail(r, "there is a control character (%02x) in the line", (unsigned char)*s);
		/* oslo.config takes it for part of the value, inih for a comment. */
		if (*s == ';' && s > r->text && isspace((unsigned char)s[-1]))
			return fail(r, "nova.conf has no comments behind values: put it on a line of its own");
	}
	return 0;
}

/* Reads on by one line. Afterwards either r->rest, or *header (the line is one), or neither is set. */
static int take_line(struct reader *r, bool *header)
{
	const char *eol = memchr(r->at, '\n', (size_t)(r->end - r->at));
	size_t len = (size_t)((eol ? eol : r->end) - r->at);
	const char *raw = r->at;
	int e;

	r->line++;
	r->at += len + (eol != NULL);
	free(r->text);
	r->text = strndup(raw, len);
	if (!r->text)
		return no_memory(r);
	if (r->dialect == DIALECT_NOVA && r->text[0] == '[')
		r->skip = !is_shared(r->text);
	if (r->skip || is_lost(r))
		return 0;
	if (memchr(raw, '\0', len))
		return fail(r, "there is a NUL byte in the line: this is no text file");
	if (!(r->dialect == DIALECT_NOVA ? trim_nova(r) : trim_ours(r)))
		return 0;
	for (size_t n = strlen(r->text); n > 0 && isspace((unsigned char)r->text[n - 1]); n--)
		r->text[n - 1] = '\0';
	e = check_line(r);
	if (e < 0)
		return e;
	if (isspace((unsigned char)r->text[0]))
		return take_continuation(r, r->text);
	*header = r->text[0] == '[';
	return *header ? take_header(r, r->text) : take_key(r, r->text);
}

/*
 * What inih takes for fgets(): one line that fits into `line` with certainty; NULL at the end or after the first
 * error.
 */
static char *next_line(char *line, int size, void *stream)
{
	struct reader *r = stream;
	bool header = false;
	size_t room, n;

	if (r->waiting && !r->failed)
		fail(r, "libinih reads the line otherwise than its manual says");
	while (!r->failed && !r->rest && !header) {
		if (r->at == r->end)
			return NULL;
		take_line(r, &header);
		if (r->failed) {
			recover(r);
			header = false;
		}
		if (r->rest && *r->rest)
			squeeze(r->rest);
	}
	if (r->failed)
		return NULL;
	if (header) {
		snprintf(line, (size_t)size, "[%s]\n", r->ini->sections[r->ini->nsections - 1].name);
		return line;
	}
	/* "key=piece\n" and NUL. A piece that is not the last must not end in the blank that inih would strip. */
	room = (size_t)size - strlen(r->key) - 3;
	n = strlen(r->rest);
	if (n > room)
		n = r->rest[room - 1] == ' ' ? room - 1 : room;
	snprintf(line, (size_t)size, "%s=%.*s\n", r->key, (int)n, r->rest);
	r->piece = n;
	r->waiting = true;
	return line;
}

/* Puts a piece where it belongs: behind the value so far, or as the first of a new key. */
static int add_piece(struct reader *r, struct ini_section *section, const char *value)
{
	struct ini_entry *entry;
	char *joined;

	if (!r->glue) {
		if (section->nentries == ENTRIES_MAX)
			return fail(r, "[%s] has more than %d keys", section->name, ENTRIES_MAX);
		entry = list_add(&section->entries, &section->nentries, sizeof(*entry));
		if (!entry)
			return no_memory(r);
		text_copy(entry->key, sizeof(entry->key), r->key);
		entry->line = r->line;
	}
	entry = &section->entries[section->nentries - 1];
	if (r->broken) {
		struct ini_break *slot = list_add(&entry->breaks, &entry->nbreaks, sizeof(*slot));

		if (!slot)
			return no_memory(r);
		*slot = (struct ini_break){ (entry->value ? strlen(entry->value) : 0) + 1, r->broken };
		r->broken = 0;
	}
	if (asprintf(&joined, "%s%s%s", entry->value ? entry->value : "", r->glue ? r->glue : "", value) < 0)
		return no_memory(r);
	free(entry->value);
	entry->value = joined;
	if (strlen(joined) > VALUE_MAX)
		return fail(r, "[%s] %s: a value has at most %d bytes", section->name, entry->key, VALUE_MAX);
	return 0;
}

static int take_piece(void *user, const char *name, const char *key, const char *value)
{
	struct reader *r = user;
	struct ini_section *section = &r->ini->sections[r->ini->nsections - 1];

	if (!key || !value) /* a new section, where inih is built to tell of it */
		return 1;
	if (strcmp(name, section->name) != 0 || strcmp(key, r->key) != 0 || strlen(value) != r->piece ||
	    strncmp(value, r->rest, r->piece) != 0)
		return 0;
	if (add_piece(r, section, value) < 0)
		return 0;
	r->rest += r->piece;
	r->glue = *r->rest == ' ' ? " " : "";
	r->rest += *r->rest == ' ';
	if (!*r->rest)
		r->rest = NULL;
	r->waiting = false;
	return 1;
}

int config_ini_read(struct ini *ini, const char *file, const char *text, size_t len, enum dialect dialect,
		    struct config_notes *mistakes, struct err *err)
{
	struct reader r = { .ini = ini,
			    .mistakes = mistakes,
			    .err = err,
			    .file = file,
			    .at = text,
			    .end = text + len,
			    .dialect = dialect,
			    .skip = dialect == DIALECT_NOVA };
	int line;

	*ini = (struct ini){ 0 };
	if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) /* a byte order mark, as some editors leave */
		r.at += 3;
	line = ini_parse_stream(next_line, &r, take_piece, &r);
	if (!r.failed && (line != 0 || r.waiting))
		fail(&r, "libinih reads the line otherwise than its manual says");
	free(r.text);
	if (r.failed) {
		config_ini_free(ini);
		return -err->code;
	}
	return 0;
}

void config_ini_free(struct ini *ini)
{
	for (size_t i = 0; i < ini->nsections; i++) {
		for (size_t k = 0; k < ini->sections[i].nentries; k++) {
			free(ini->sections[i].entries[k].value);
			free(ini->sections[i].entries[k].breaks);
		}
		free(ini->sections[i].entries);
	}
	free(ini->sections);
	*ini = (struct ini){ 0 };
}
