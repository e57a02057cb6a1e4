/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One section's keys and values, by the table of its kind; and how mistakes are told. */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "internal.h"
#include "base/text.h"

enum { PLACE_SIZE = 600, TEXT_SIZE = 4096 };

/* Returns how many bytes of the text say where. */
static size_t spot_text(char *out, size_t size, const struct spot *at, const char *fmt, va_list ap)
{
	size_t n = 0, place;

	if (at->line)
		n += (size_t)snprintf(out, size, "%.512s:%d: ", at->file, at->line);
	else
		n += (size_t)snprintf(out, size, "%.512s: ", at->file);
	place = n;
	if (at->section)
		n += (size_t)snprintf(out + n, size - n, "[%s]%s", at->section, at->key ? " " : ": ");
	if (at->key)
		n += (size_t)snprintf(out + n, size - n, "%s: ", at->key);
	vsnprintf(out + n, size - n, fmt, ap);
	return place;
}

int spot_err(const struct spot *at, struct err *err, const char *fmt, ...)
{
	char text[2048];
	va_list ap;
	size_t place;

	va_start(ap, fmt);
	place = spot_text(text, sizeof(text), at, fmt, ap);
	va_end(ap);
	err_set(err, EINVAL, "%s", text);
	return err_at(err, place);
}

/* Keeps the text, made printable; the first `place` bytes of it say where. */
static int add_note(struct config_notes *notes, const char *text, size_t place)
{
	struct config_note *slot = list_add(&notes->list, &notes->n, sizeof(*slot));
	char where[PLACE_SIZE], safe[TEXT_SIZE];

	if (!slot)
		return -ENOMEM;
	snprintf(where, sizeof(where), "%.*s", (int)place, text);
	slot->place = text_safe(safe, sizeof(safe), where);
	text_safe(safe + slot->place, sizeof(safe) - slot->place, text + place);
	slot->text = strdup(safe);
	return slot->text ? 0 : -ENOMEM;
}

int config_mistake(struct config_notes *mistakes, int r, const struct err *err)
{
	if (r != -EINVAL || !mistakes || mistakes->n >= CONFIG_MISTAKES_MAX)
		return r;
	return add_note(mistakes, err->text, err->place);
}

void config_notes_free(struct config_notes *notes)
{
	for (size_t i = 0; i < notes->n; i++)
		free(notes->list[i].text);
	free(notes->list);
	*notes = (struct config_notes){ 0 };
}

int spot_warn(const struct spot *at, struct config *config, struct err *err, const char *fmt, ...)
{
	char text[2048];
	va_list ap;
	size_t place;

	va_start(ap, fmt);
	place = spot_text(text, sizeof(text), at, fmt, ap);
	va_end(ap);
	return add_note(&config->warnings, text, place) < 0 ? err_sys(err, ENOMEM, "%s", at->file) : 0;
}

void *list_add(void *list, size_t *n, size_t size)
{
	char *grown = reallocarray(*(void **)list, *n + 1, size);

	if (!grown)
		return NULL;
	*(void **)list = grown;
	return memset(grown + (*n)++ * size, 0, size);
}

struct spot setting_spot(const struct setting *t, const char *section)
{
	return (struct spot){ .file = t->at->file, .line = t->at->line, .section = section, .key = t->key->name };
}

struct spot setting_item(const struct setting *t, const char *item)
{
	struct spot at = *t->at;

	for (size_t i = 0; i < t->entry->nbreaks; i++)
		if (t->entry->breaks[i].at <= (size_t)(item - t->value))
			at.line = t->entry->breaks[i].line;
	return at;
}

int setting_number(const struct setting *t, const char *value, long min, long max, int *to)
{
	long n;

	if (!text_number(value, min, max, &n))
		return spot_err(t->at, t->err, "'%.80s' is no whole number from %ld to %ld", value, min, max);
	*to = (int)n;
	return 0;
}

int setting_word(const struct setting *t, const char *value, const struct word *words, int *to)
{
	char all[256] = "";

	for (const struct word *w = words; w->word; w++) {
		size_t n = strlen(all);

		if (strcmp(w->word, value) == 0) {
			*to = w->value;
			return 0;
		}
		snprintf(all + n, sizeof(all) - n, "%s%s", n ? ", " : "", w->word);
	}
	return spot_err(t->at, t->err, "'%.80s' is none of: %s", value, all);
}

static const struct key *find_key(const struct key *keys, const char *name)
{
	for (; keys->name; keys++)
		if (strcmp(keys->name, name) == 0)
			return keys;
	return NULL;
}

static int unknown_key(const struct key *keys, const struct spot *at, struct err *err)
{
	char all[512] = "";

	for (; keys->name; keys++) {
		size_t n = strlen(all);

		snprintf(all + n, sizeof(all) - n, "%s%s%s", n ? ", " : "", keys->name, keys->many ? ":ID" : "");
	}
	return spot_err(at, err, "no such key; the section has: %s", all);
}

/*
 * Do two lines of a section say the same thing? A key with `many` lines is told apart by what stands before its
 * value's =.
 */
static bool is_repeat(const struct key *keys, const struct ini_entry *a, const struct ini_entry *b)
{
	const struct key *ka = find_key(keys, a->key), *kb = find_key(keys, b->key);
	size_t na, nb;

	if (!ka || !kb || strcmp(ka->same_as ? ka->same_as : ka->name, kb->same_as ? kb->same_as : kb->name) != 0)
		return false;
	if (!ka->many)
		return true;
	na = strcspn(a->value, " =");
	nb = strcspn(b->value, " =");
	return na == nb && strncmp(a->value, b->value, na) == 0;
}

static void hint(struct err *err, const char *text)
{
	size_t n = strlen(err->text);

	snprintf(err->text + n, sizeof(err->text) - n, "%s", text);
}

static int take_entry(struct setting *t, const struct key *keys, const struct ini_section *section, size_t index,
		      enum dialect dialect)
{
	const struct ini_entry *entry = &section->entries[index];
	struct spot at = { .file = t->at->file, .line = entry->line, .section = section->name, .key = entry->key };
	struct setting own = *t;
	autofree char *value = NULL;
	int r;

	own.at = &at;
	own.key = find_key(keys, entry->key);
	if (dialect == DIALECT_NOVA && (!own.key || !own.key->nova))
		return 0;
	if (!own.key)
		return unknown_key(keys, &at, t->err);
	for (size_t i = 0; i < index; i++)
		if (is_repeat(keys, &section->entries[i], entry))
			return spot_err(&at, t->err, "says again what %s in line %d says", section->entries[i].key,
					section->entries[i].line);
	if (entry->nbreaks && !own.key->list)
		return spot_err(&at, t->err,
				"takes one line, but a line that begins with white space follows, which continues it");
	if (dialect == DIALECT_OURS && entry->value[strspn(entry->value, " ,")] == '\0')
		return spot_err(&at, t->err, "has no value: leave the line out");
	value = strdup(entry->value);
	if (!value)
		return err_sys(t->err, ENOMEM, "%s", at.file);
	own.entry = entry;
	own.value = value;
	r = own.key->set(&own, value);
	if (r == -EINVAL && entry->nbreaks) /* most likely an indented key that was meant as one */
		hint(t->err, " (a line that begins with white space continues the one above)");
	return r;
}

int config_keys_take(struct draft *draft, struct part *part, const struct key *keys, const char *file,
		     const struct ini_section *section, enum dialect dialect, struct err *err)
{
	struct spot at = { .file = file, .line = section->line };
	struct setting t = { .draft = draft, .part = part, .at = &at, .err = err };

	for (size_t i = 0; i < section->nentries; i++) {
		int r = config_mistake(draft->mistakes, take_entry(&t, keys, section, i, dialect), err);

		if (r < 0)
			return r;
	}
	return 0;
}
