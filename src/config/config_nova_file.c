/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reads a nova.conf into entries, by the rules of oslo.config's parser (oslo_config/iniparser.py): a line that begins
 * with a blank or a tab continues the value above; any other line ends it. A malformed line is refused in any section,
 * because Nova would not start. Apart from that, sections that do not concern vGPUs are ignored.
 */
#include <string.h>
#include <strings.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/text.h"
#include "internal.h"

enum { ENTRIES_MAX = 4096 };

/* The options that define the pool, from nova/conf/devices.py. */
static const struct {
	const char *section, *key; /* NULL: the header */
	enum nova_option option;
	bool old; /* deprecated: counts only if the file does not use the other name */
} options[] = {
	{ "devices", "enabled_mdev_types", NOVA_TYPES, false },
	{ "devices", "enabled_vgpu_types", NOVA_TYPES, true },
	{ "mdev_", NULL, NOVA_HEADER, false },
	{ "vgpu_", NULL, NOVA_HEADER, true },
	{ "mdev_", "device_addresses", NOVA_ADDRESSES, false },
	{ "vgpu_", "device_addresses", NOVA_ADDRESSES, true },
	{ "mdev_", "mdev_class", NOVA_CLASS, false },
	{ "vgpu_", "mdev_class", NOVA_UNREAD, true },
	{ "mdev_", "max_instances", NOVA_MAX, false },
	{ "vgpu_", "max_instances", NOVA_UNREAD, true },
};

struct reader {
	struct draft *draft;
	struct err *err;
	struct location at;  /* the current line */
	const char *section; /* NULL: before the first section */
	char *end;           /* of the value that an indented next line continues; NULL: none */
};

/* oslo.config ignores the case of section names. */
static bool is_option(size_t i, const char *section, const char *key)
{
	size_t n = strlen(options[i].section);

	if (strncasecmp(section, options[i].section, n) != 0 || (options[i].section[n - 1] != '_' && section[n]))
		return false;
	return key && options[i].key ? strcmp(key, options[i].key) == 0 : key == options[i].key;
}

static int add_entry(struct reader *r, const char *key, char *value)
{
	struct draft *draft = r->draft;
	struct nova_entry *slot;

	for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
		if (!is_option(i, r->section, key))
			continue;
		if (draft->nentries == ENTRIES_MAX)
			return config_err(&r->at, r->err, "more than %d lines in [devices] and [mdev_*]", ENTRIES_MAX);
		slot = mem_add(&draft->entries, &draft->nentries, sizeof(*slot));
		*slot = (struct nova_entry){ .at = { r->at.file, r->at.line, r->section, key, true },
					     .option = options[i].option,
					     .old = options[i].old };
		slot->value = value;
	}
	return 0;
}

static int take_header(struct reader *r, char *line)
{
	size_t n = strlen(line);

	if (n < 3 || line[n - 1] != ']')
		return config_err(&r->at, r->err,
				  "'%.80s' is not a section header: expected [NAME] and nothing after it", line);
	line[n - 1] = '\0';
	r->section = config_keep(&r->draft->config->names, &r->draft->config->nnames, line + 1);
	return add_entry(r, NULL, NULL);
}

/* Quotes around the first line of a value are not part of it. */
static int take_key(struct reader *r, char *line)
{
	char *value = line + strcspn(line, ":="), *key;
	size_t n;

	if (!*value)
		return config_err(&r->at, r->err, "'%.80s': expected 'key = value', [section] or # comment", line);
	*value = '\0';
	value = text_strip(value + 1);
	key = text_strip(line);
	if (!*key)
		return config_err(&r->at, r->err, "missing key before '='");
	if (!r->section)
		return config_err(&r->at, r->err, "'%.80s' is outside of any [section]", key);
	n = strlen(value);
	if (n > 1 && (*value == '"' || *value == '\'') && value[n - 1] == *value) {
		value[n - 1] = '\0';
		value++;
	}
	r->end = value + strlen(value);
	return add_entry(r, key, value);
}

/* `line` follows the value above in one text, after at least a line end, so the value can grow in place. */
static int take_line(struct reader *r, char *line)
{
	bool indented = *line == ' ' || *line == '\t';
	char *text = text_strip(line), *end = r->end;
	size_t n = strlen(text);

	r->end = NULL;
	if (n && indented && !end)
		return config_err(&r->at, r->err, "indented line without a key above to continue");
	if (n && indented) {
		*end++ = '\n';
		memmove(end, text, n + 1);
		r->end = end + n;
		return 0;
	}
	if (!n || *text == '#' || *text == ';')
		return 0;
	return *text == '[' ? take_header(r, text) : take_key(r, text);
}

int config_nova_read(struct draft *draft, const char *name, char *text, size_t len, struct err *err)
{
	struct config *config = draft->config;
	struct reader r = { .draft = draft, .err = err, .at.file = config_keep(&config->files, &config->nfiles, name) };
	int e = 0;

	for (char *line = text, *next; e == 0 && line < text + len; line = next) {
		size_t n = strcspn(line, "\r\n");

		r.at.line++;
		if (line + n < text + len && !line[n])
			return config_err(&r.at, err, "unexpected NUL byte: not a text file");
		next = line + n + 1 + (line[n] == '\r' && line[n + 1] == '\n');
		line[n] = '\0';
		e = take_line(&r, line);
	}
	return e;
}
