/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reads the journal's export format. */
#include "cli/journal.h"

#include <endian.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/text.h"

enum { VALUE_MAX = 1 << 20 };

#define AT(member) offsetof(struct journal_entry, member)

static const struct {
	const char *name;
	size_t at;
} texts[] = {
	{ "VGPU_LEASE_EVENT", AT(event) }, { "VGPU_LEASE_REASON", AT(reason) },
	{ "VGPU_LEASE_TYPE", AT(type) },   { "PGPU", AT(pgpu) },
	{ "DOMAIN_UUID", AT(uuid) },       { "DOMAIN_NAME", AT(name) },
	{ "MESSAGE", AT(message) },
};

void journal_entry_free(struct journal_entry *entry)
{
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		free(*(char **)((char *)entry + texts[i].at));
	for (size_t i = 0; i < entry->nids; i++)
		free(entry->ids[i]);
	*entry = (struct journal_entry){ 0 };
}

/* Takes the value over, or frees it. */
static void keep(struct journal_entry *entry, const char *name, char *value)
{
	long time_us;

	if (strcmp(name, "__REALTIME_TIMESTAMP") == 0 && text_number(value, 0, INT64_MAX, &time_us))
		entry->time_us = time_us;
	if (strcmp(name, "VGPU_LEASE_ID") == 0 && entry->nids < JOURNAL_IDS_MAX) {
		entry->ids[entry->nids++] = value;
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		char **to = (char **)((char *)entry + texts[i].at);

		if (strcmp(name, texts[i].name) == 0 && !*to) {
			*to = value;
			return;
		}
	}
	free(value);
}

/* The value of a field of which the line was the name; NULL: it is cut off, or too long. */
static char *read_binary(FILE *from)
{
	uint64_t size;
	char *value;

	if (fread(&size, sizeof(size), 1, from) != 1)
		return NULL;
	size = le64toh(size);
	if (size > VALUE_MAX)
		return NULL;
	value = mem_new(1, size + 1);
	if (fread(value, 1, size, from) == size && getc(from) == '\n')
		return value;
	free(value);
	return NULL;
}

/* One field, of which `line` is the first line. */
static bool read_field(FILE *from, char *line, struct journal_entry *entry)
{
	char *equals = strchr(line, '='), *value;

	value = equals ? mem_strdup(equals + 1) : read_binary(from);
	if (!value)
		return false;
	if (equals)
		*equals = '\0';
	keep(entry, line, value);
	return true;
}

/* What an entry does not have is "". */
static void complete(struct journal_entry *entry)
{
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		char **to = (char **)((char *)entry + texts[i].at);

		if (!*to)
			*to = mem_strdup("");
	}
}

int journal_read(FILE *from, struct journal_entry *entry, struct err *err)
{
	autofree char *line = NULL;
	size_t size = 0, fields = 0;
	ssize_t n;

	*entry = (struct journal_entry){ 0 };
	while ((n = getline(&line, &size, from)) > 0) {
		line[n - 1] = line[n - 1] == '\n' ? '\0' : line[n - 1];
		if (!*line && fields > 0)
			break;
		if (*line && !read_field(from, line, entry)) {
			journal_entry_free(entry);
			return err_set(err, EBADMSG, "journalctl: its output is not in the export format");
		}
		fields += *line != '\0';
	}
	if (fields == 0)
		return 0;
	complete(entry);
	return 1;
}
