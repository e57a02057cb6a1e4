/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A table for people. */
#include "cli/table.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

static void add(struct table *table, const char *text)
{
	size_t size = 4 * strlen(text) + 2; /* each byte can become \xNN */
	char *cell = malloc(size);

	table->cells = reallocarray(table->cells, table->ncells + 1, sizeof(*table->cells));
	if (!cell || !table->cells)
		abort();
	text_safe(cell, size, *text ? text : "-");
	table->cells[table->ncells++] = cell;
}

void table_add(struct table *table, const char *const *cells, size_t n)
{
	for (size_t i = 0; i < n; i++)
		add(table, cells[i] ? cells[i] : "");
}

void table_addf(struct table *table, const char *fmt, ...)
{
	char *text;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		abort();
	va_end(ap);
	add(table, text);
	free(text);
}

void table_number(struct table *table, int number)
{
	if (number < 0)
		add(table, "");
	else
		table_addf(table, "%d", number);
}

/* Columns on a terminal, one for each character. */
static size_t width_of(const char *s)
{
	size_t n = 0;

	for (; *s; s++)
		n += ((unsigned char)*s & 0xc0) != 0x80;
	return n;
}

static size_t column_width(const struct table *table, size_t column)
{
	size_t widest = 0;

	for (size_t i = column; i < table->ncells; i += table->ncolumns) {
		size_t n = width_of(table->cells[i]);

		if (n > widest)
			widest = n;
	}
	return widest;
}

void table_end(struct table *table, FILE *to)
{
	size_t widths[TABLE_COLUMNS] = { 0 }, c = 0;

	for (size_t i = 0; i < table->ncolumns; i++)
		widths[i] = column_width(table, i);
	for (size_t i = 0; i < table->ncells; i++) {
		fputs(table->cells[i], to);
		if (c + 1 == table->ncolumns)
			putc('\n', to);
		else
			fprintf(to, "%*s", (int)(widths[c] - width_of(table->cells[i]) + 2), "");
		c = c + 1 == table->ncolumns ? 0 : c + 1;
		free(table->cells[i]);
	}
	free(table->cells);
	*table = (struct table){ 0 };
}
