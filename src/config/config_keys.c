/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Sets each key to its value, as the table of its section defines, and formats messages about mistakes. */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "internal.h"

static int verr(const struct location *at, struct err *err, const char *fmt, va_list ap)
{
	char text[2048], line[16] = "";
	size_t where;

	if (at->line)
		snprintf(line, sizeof(line), ":%d", at->line);
	where = (size_t)snprintf(text, sizeof(text), "%.512s%s: ", at->file, line);
	if (at->section)
		text_add(text, sizeof(text), "[%s]%s", at->section, at->key ? " " : ": ");
	if (at->key)
		text_add(text, sizeof(text), "%.80s: ", at->key);
	vsnprintf(text + strlen(text), sizeof(text) - strlen(text), fmt, ap);
	err_set(err, EINVAL, "%s", text);
	err->where = where;
	return -EINVAL;
}

int config_err(const struct location *at, struct err *err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	verr(at, err, fmt, ap);
	va_end(ap);
	if (at->nova)
		text_add(err->text, sizeof(err->text), "; or write [%s] in vgpu-lease.conf, which takes precedence",
			 at->section);
	return -err->code;
}

static void add_note(struct config_notes *notes, const struct err *err, bool of_pool)
{
	struct config_note *slot = mem_add(&notes->list, &notes->n, sizeof(*slot));

	slot->of_pool = of_pool;
	slot->where = err->where;
	slot->text = mem_strdup(err->text);
	memcpy(slot->word, err->word, sizeof(slot->word));
}

void config_warn(const struct location *at, struct config *config, bool of_pool, const char *fmt, ...)
{
	struct err warning;
	va_list ap;

	va_start(ap, fmt);
	verr(at, &warning, fmt, ap);
	va_end(ap);
	add_note(&config->warnings, &warning, of_pool);
}

int config_mistake(struct draft *draft, int r, const struct err *err)
{
	if (r != -EINVAL || !draft->mistakes || draft->mistakes->n >= CONFIG_MISTAKES_MAX)
		return r;
	add_note(draft->mistakes, err, false);
	return 0;
}

void config_notes_free(struct config_notes *notes)
{
	for (size_t i = 0; i < notes->n; i++)
		free(notes->list[i].text);
	free(notes->list);
	*notes = (struct config_notes){ 0 };
}

const struct key *config_key(const struct key *keys, const char *name)
{
	for (; keys->name; keys++)
		if (strcmp(keys->name, name) == 0)
			return keys;
	return NULL;
}

/* Removes white space at the ends, and replaces every run of white space inside with one blank. */
static void squeeze(char *s)
{
	char *to = s;

	s = text_strip(s);
	for (; *s; s++)
		if (!isspace((unsigned char)*s))
			*to++ = *s;
		else if (to[-1] != ' ')
			*to++ = ' ';
	*to = '\0';
}

static void *destination(const struct setting *t)
{
	return (t->section ? (char *)t->section : (char *)t->draft->config) + t->key->offset;
}

int config_key_set(const struct setting *t, char *value)
{
	bool lines = *text_strip(value) && strchr(value, '\n');
	int r;

	if (lines && !t->key->list)
		return config_err(&t->at, t->err, "takes a single line, but an indented line follows and continues it");
	if (value[strspn(value, " ,\t\n")] == '\0')
		return config_err(&t->at, t->err, "missing value; remove the line to use the default");
	if (!t->key->list)
		squeeze(value);
	if (t->key->add)
		*(size_t *)destination(t) = 0;
	r = t->key->add ? config_each_item(t, value, t->key->add) : t->key->set(t, value);
	if (r == -EINVAL && lines) /* the indented line was probably meant as a key */
		text_add(t->err->text, sizeof(t->err->text), " (an indented line continues the line above)");
	return r;
}

int config_each_item(const struct setting *t, char *list, int (*add)(const struct setting *t, char *item))
{
	struct setting own = *t;
	char *item;

	while ((item = strsep(&list, ","))) {
		int r = 0, lines = 0;

		for (; isspace((unsigned char)*item); item++)
			own.at.line += *item == '\n';
		for (const char *s = item; *s; s++)
			lines += *s == '\n';
		squeeze(item);
		if (*item || (list && t->at.nova)) /* Nova ignores empty items only at the end */
			r = add(&own, item);
		/* A mistake in one of these lists (enabled types, nova_conf) makes the set of enabled types unknown. */
		if (r < 0 && !t->section)
			t->draft->unsure = true;
		r = config_mistake(t->draft, r, t->err);
		if (r < 0)
			return r;
		own.at.line += lines;
	}
	return 0;
}

int config_add_item(const struct setting *t, struct item **list, size_t *n, size_t max, const char *things,
		    const char *text)
{
	struct config *config = t->draft->config;
	struct item *slot;

	for (size_t i = 0; i < *n; i++)
		if (strcmp((*list)[i].text, text) == 0)
			return config_err(&t->at, t->err, "%s is listed twice", text);
	if (*n == max)
		return config_err(&t->at, t->err, "more than %zu %s", max, things);
	slot = mem_add(list, n, sizeof(*slot));
	*slot = (struct item){ config_keep(&config->names, &config->nnames, text), t->at };
	return 0;
}

int config_number(const struct setting *t, const char *value, int *to)
{
	const struct key *key = t->key;
	long n = NO_LIMIT;

	if (!(key->unlimited && strcmp(value, "unlimited") == 0) && !text_number(value, key->min, key->max, &n))
		return config_err(&t->at, t->err, "invalid value '%.80s': expected a number, %ld to %ld%s", value,
				  key->min, key->max, key->unlimited ? ", or unlimited" : "");
	*to = (int)n;
	return 0;
}

int config_set_number(const struct setting *t, char *value)
{
	return config_number(t, value, destination(t));
}

int config_set_word(const struct setting *t, char *value)
{
	char all[256] = "";

	for (const struct word *w = t->key->words; w->word; w++) {
		if (strcmp(w->word, value) == 0) {
			if (w->instead)
				return config_err(&t->at, t->err, "'%s' is no longer a value; write %s", value,
						  w->instead);
			if (t->key->flag)
				*(bool *)destination(t) = w->value;
			else
				*(int *)destination(t) = w->value;
			return 0;
		}
		if (!w->instead)
			text_add(all, sizeof(all), "%s%s", *all ? ", " : "", w->word);
	}
	return config_err(&t->at, t->err, "invalid value '%.80s': expected one of %s", value, all);
}
