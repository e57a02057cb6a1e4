/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tables, laid out for a terminal. */
#include "cli/table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/text.h"

/* The blanks between two columns. */
enum { GAP = 2 };

#define ENTRY(column, holds) [COL_##column] = { #column, holds }

static const struct {
	const char *name;
	enum { WORD, NUMBER, TEXT } kind;
} dictionary[COLUMNS] = { TABLE_COLUMNS(ENTRY) };

/* The n-th column; COL_NONE after the last. */
static enum column column_of(const struct table_layout *layout, int n)
{
	for (int i = 0; layout->columns[i] != COL_NONE; i++)
		if (n-- == 0)
			return layout->columns[i];
	return layout->more[n];
}

/* The column of this name; COL_NONE: the table does not have it. */
static enum column find_column(const struct table_layout *layout, const char *name)
{
	enum column column;

	for (int i = 0; (column = column_of(layout, i)) != COL_NONE; i++)
		if (strcasecmp(dictionary[column].name, name) == 0)
			break;
	return column;
}

static int refuse_column(const struct table_layout *layout, const char *name, struct err *err)
{
	char names[256] = "";

	for (int i = 0; column_of(layout, i) != COL_NONE; i++)
		text_add(names, sizeof(names), "%s%s", i ? ", " : "", dictionary[column_of(layout, i)].name);
	return err_set(err, EINVAL, "invalid column '%s': expected %s", name, names);
}

int table_check(const struct table_layout *layout, struct table_options *options, struct err *err)
{
	autofree char *list = mem_strdup(options->output ? options->output : "");
	char *rest = list, *name;
	int n = 0;

	while ((name = text_next(&rest, ",")) != NULL) {
		const enum column column = find_column(layout, name);

		if (column == COL_NONE)
			return refuse_column(layout, name, err);
		for (int i = 0; i < n; i++)
			if (options->shown[i] == column)
				return err_set(err, EINVAL, "column '%s' given twice", name);
		options->shown[n++] = column;
	}
	if (options->output && !n)
		return refuse_column(layout, options->output, err);
	if (!options->sort)
		return 0;
	options->by = find_column(layout, options->sort);
	return options->by == COL_NONE ? refuse_column(layout, options->sort, err) : 0;
}

/* The number in "12", or the seconds in "5m" or "2d". -1 means unknown, and sorts first. */
static long number_of(const char *text)
{
	char *unit;
	long n = strtol(text, &unit, 10);

	if (unit == text)
		return -1;
	return n * (*unit == 'm' ? 60 : *unit == 'h' ? 3600 : *unit == 'd' ? 86400 : 1);
}

static const char *cell_of(const struct table_row *row, enum column column)
{
	return row->cells[column] ? row->cells[column] : "-";
}

/* Rows with the same cell, as all have in COL_NONE, keep their order. */
static int compare_rows(const void *a, const void *b, void *table)
{
	const struct table_row *x = a, *y = b;
	const enum column column = ((const struct table *)table)->options->by;
	const char *left = cell_of(x, column), *right = cell_of(y, column);
	long m = number_of(left), n = number_of(right);
	int order = dictionary[column].kind == NUMBER ? (m > n) - (m < n) : strverscmp(left, right);

	return order ? order : (x->number > y->number) - (x->number < y->number);
}

void table_start(struct table *table, const struct table_layout *layout, const struct table_options *options)
{
	*table = (struct table){ .layout = layout,
				 .options = options,
				 .shown = options->output ? options->shown : layout->columns };
}

void table_line(struct table *table)
{
	struct table_row *row;

	if (!table->layout)
		return;
	row = mem_add(&table->rows, &table->n, sizeof(*row));
	*row = (struct table_row){ .number = table->n };
}

/* Shows a blank at either end as \x20, because it would look like the table's padding. */
static char *ends_shown(const char *word)
{
	autofree char *safe = term_safe(word);
	size_t len = strlen(safe);
	bool first = *safe == ' ', last = len > 1 && safe[len - 1] == ' ';

	return mem_format("%s%.*s%s", first ? "\\x20" : "", (int)len - first - last, safe + first, last ? "\\x20" : "");
}

void table_coloured(struct table *table, enum column column, const char *text, const char *sequence)
{
	struct table_row *row;

	if (!table->layout)
		return;
	row = &table->rows[table->n - 1];
	free(row->cells[column]);
	row->cells[column] = text && *text ? ends_shown(text) : NULL;
	row->colours[column] = sequence;
}

void table_text(struct table *table, enum column column, const char *text)
{
	table_coloured(table, column, text, "");
}

void table_number(struct table *table, enum column column, int number)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", number);
	table_text(table, column, number < 0 ? NULL : text);
}

/* Is it the column that is of interest only with Nova, empty in each row? */
static bool is_empty(const struct table *table, enum column column)
{
	bool any = false;

	for (size_t i = 0; i < table->n; i++)
		any |= table->rows[i].cells[column] != NULL;
	return column == COL_INSTANCE && !any;
}

static int width_of(const struct table *table, enum column column)
{
	const char *heading = table->options->no_headings ? "" : dictionary[column].name;
	int width = (int)strlen(heading);

	for (size_t i = 0; i < table->n; i++) {
		const char *cell = cell_of(&table->rows[i], column);
		int columns = term_columns(cell, strlen(cell));

		width = columns > width ? columns : width;
	}
	return width;
}

static bool fits(const struct table *table, int width)
{
	int columns = -GAP;

	for (const enum column *c = table->shown; *c != COL_NONE; c++)
		columns += table->hidden[*c] ? 0 : table->widths[*c] + GAP;
	return columns <= width;
}

/* Makes the table fit, if possible. */
static void squeeze(struct table *table, int width)
{
	const enum column *narrow = table->layout->narrow;
	enum column text = COL_NONE;
	int n = 0, others = 0;

	if (fits(table, width))
		return;
	for (const enum column *c = table->shown; *c != COL_NONE; c++) {
		if (dictionary[*c].kind == TEXT)
			text = *c;
		else
			others += !table->hidden[*c];
	}
	/* If the text is the only column, there is no line to go below. */
	if (text != COL_NONE && !others)
		return;
	table->below = text;
	table->hidden[text] = true;
	for (; !table->options->output && narrow[n] != COL_NONE && !fits(table, width); n++)
		table->hidden[narrow[n]] = true;
	/* After a wide column is omitted, several others can fit again. */
	while (n-- > 0) {
		table->hidden[narrow[n]] = is_empty(table, narrow[n]);
		table->hidden[narrow[n]] |= !fits(table, width);
	}
}

void table_fit(struct table *table, int width)
{
	if (table->n)
		qsort_r(table->rows, table->n, sizeof(*table->rows), compare_rows, table);
	for (const enum column *c = table->shown; *c != COL_NONE; c++) {
		table->widths[*c] = width_of(table, *c);
		table->hidden[*c] = !table->options->output && is_empty(table, *c);
	}
	if (width)
		squeeze(table, width);
	table->wide = width && !fits(table, width);
}

/* Prints a row, or (NULL) the heading. */
static void print_line(const struct table *table, const struct table_row *row, const struct term *term, int at,
		       const char *margin)
{
	autofree char *line = NULL;
	size_t len;
	FILE *to = mem_open(&line, &len);
	int gap = 0;

	for (const enum column *c = table->shown; *c != COL_NONE; c++) {
		const char *cell = row ? cell_of(row, *c) : dictionary[*c].name;
		/* A row that is wrapped has no colours, because their sequences would count as words. */
		const char *colour = row && row->colours[*c] && !table->wide ? term_colour(term, row->colours[*c]) : "";
		int left = table->widths[*c] - term_columns(cell, strlen(cell)), right = 0;

		if (table->hidden[*c])
			continue;
		if (dictionary[*c].kind != NUMBER) {
			right = left;
			left = 0;
		}
		fprintf(to, "%*s%s%s%s", gap + left, "", colour, cell, *colour ? TERM_PLAIN : "");
		gap = right + GAP;
	}
	mem_close(to);
	if (table->wide)
		term_wrap_printable(term, at, margin, line);
	else
		fprintf(term->to, "%s\n", line);
}

void table_print_row(const struct table *table, size_t i, const struct term *term, int at, const char *margin)
{
	const struct table_row *row = &table->rows[i];

	print_line(table, row, term, at, margin);
	if (!row->cells[table->below])
		return;
	fputs(TERM_INDENT, term->to);
	term_wrap_printable(term, (int)strlen(TERM_INDENT), TERM_INDENT, row->cells[table->below]);
}

void table_free(struct table *table)
{
	for (size_t i = 0; i < table->n; i++)
		for (enum column column = COL_NONE; column < COLUMNS; column++)
			free(table->rows[i].cells[column]);
	free(table->rows);
	*table = (struct table){ 0 };
}

void table_end(struct table *table, const struct term *term)
{
	table_fit(table, term->width);
	if (!table->options->no_headings)
		print_line(table, NULL, term, 0, TERM_INDENT);
	for (size_t i = 0; i < table->n; i++)
		table_print_row(table, i, term, 0, TERM_INDENT);
	table_free(table);
}
