/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The terminal's properties, wrapped text, and tables. */
#include "cli/term.h"

#include <errno.h>
#include <langinfo.h>
#include <libsmartcols.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

#include "base/mem.h"
#include "base/text.h"

/* the columns of a UUID and a few other characters */
enum { TEXT_COLUMNS = 40 };

static struct term read_term(FILE *to)
{
	const char *no_color = getenv("NO_COLOR"), *kind = getenv("TERM");
	struct winsize size;
	bool utf8;

	setlocale(LC_CTYPE, "");
	utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
	/* libsmartcols can loop forever over text that is invalid in the locale. Our output is UTF-8. */
	if (!utf8 && !setlocale(LC_CTYPE, "C.UTF-8"))
		setlocale(LC_CTYPE, "C");
	if (!isatty(fileno(to)))
		return (struct term){ .to = to };
	if (ioctl(fileno(to), TIOCGWINSZ, &size) < 0)
		size = (struct winsize){ 0 };
	return (struct term){
		.to = to,
		.width = size.ws_col ? size.ws_col : 80,
		.colour = kind && *kind && strcmp(kind, "dumb") != 0 && !(no_color && *no_color),
		.utf8 = utf8,
	};
}

static const struct term *term_of(struct term *term, FILE *to)
{
	if (!term->to)
		*term = read_term(to);
	return term;
}

const struct term *term_stdout(void)
{
	static struct term term;

	return term_of(&term, stdout);
}

const struct term *term_stderr(void)
{
	static struct term term;

	return term_of(&term, stderr);
}

const char *term_colour(const char *sequence)
{
	return term_stdout()->colour ? sequence : "";
}

/* Replaces characters that the terminal cannot show. The caller frees the text. */
static char *shown_on(const struct term *term, const char *text)
{
	size_t size = 4 * strlen(text) + 1; /* each byte may become \xNN */
	char *shown = mem_alloc(size);

	text_safe_again(shown, size, text, term->width && !term->utf8);
	return shown;
}

char *term_safe(const char *text)
{
	autofree char *safe = text_safe_copy(text);

	return shown_on(term_stdout(), safe);
}

int term_columns(const char *text, size_t len)
{
	autofree char *part = mem_strndup(text, len);
	autofree wchar_t *wide = mem_new(len + 1, sizeof(*wide));
	int columns = 0;

	/* Without a UTF-8 locale, a byte takes one column. */
	if (mbstowcs(wide, part, len + 1) == (size_t)-1)
		return (int)len;
	for (const wchar_t *c = wide; *c; c++)
		columns += wcwidth(*c) > 0 ? wcwidth(*c) : 0;
	return columns;
}

void term_wrap_printable(const struct term *term, int at, const char *margin, const char *text)
{
	autofree char *shown = shown_on(term, text);
	int left = (int)strlen(margin), column = at;

	/* Replace a margin of blanks that leaves too few columns for a UUID. A margin with a tree's lines stays. */
	if (term->width - left < TEXT_COLUMNS && left >= 2 * (int)strlen(TERM_INDENT) && !margin[strspn(margin, " ")])
		margin = TERM_INDENT;
	left = term_columns(margin, strlen(margin));
	for (const char *word = shown; *word;) {
		size_t blanks = strspn(word, " "), len = strcspn(word + blanks, " ");
		int columns = term_columns(word + blanks, len);

		if (term->width && !len)
			break;
		if (term->width && column + (int)blanks > left && column + (int)blanks + columns > term->width &&
		    (word > shown || at > left)) {
			fprintf(term->to, "\n%s", margin);
			column = left;
		} else {
			fprintf(term->to, "%*s", (int)blanks, "");
			column += (int)blanks;
		}
		fwrite(word + blanks, 1, len, term->to);
		column += columns;
		word += blanks + len;
	}
	putc('\n', term->to);
}

void term_wrap(int at, const char *margin, const char *text)
{
	autofree char *safe = term_safe(text);

	term_wrap_printable(term_stdout(), at, margin, safe);
}

void term_wrap_behind(int at, int from, const char *text)
{
	int gap = from - at > 2 ? from - at : 2;
	autofree char *margin = mem_format("%*s", from, ""), *apart = mem_format("%*s%s", gap, "", text);

	/* The gap is part of the text, so that the gap never ends a line. */
	term_wrap(at, margin, apart);
}

#define ENTRY(column, holds) [COL_##column] = { #column, holds }

static const struct {
	const char *name;
	enum { WORD, NUMBER, TEXT } kind;
} dictionary[COLUMNS] = { TABLE_COLUMNS(ENTRY) };

static enum column column_of(const struct table_layout *layout, int n)
{
	for (int i = 0; layout->columns[i] != COL_NONE; i++)
		if (n-- == 0)
			return layout->columns[i];
	return layout->more[n];
}

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
	char *rest = options->output ? list : NULL, *name;
	int n = 0;

	while ((name = strsep(&rest, ",")) != NULL) {
		const enum column column = find_column(layout, name = text_strip(name));

		if (column == COL_NONE)
			return refuse_column(layout, name, err);
		for (int i = 0; i < n; i++)
			if (options->shown[i] == column)
				return err_set(err, EINVAL, "column '%s' given twice", name);
		options->shown[n++] = column;
	}
	if (!options->sort)
		return 0;
	options->by = find_column(layout, options->sort);
	return options->by == COL_NONE ? refuse_column(layout, options->sort, err) : 0;
}

/* Converts "12" to a number, and "5m" or "2d" to seconds. -1 means unknown and sorts first. */
static long number_of(const char *text)
{
	char *unit;
	long n = strtol(text, &unit, 10);

	if (unit == text)
		return -1;
	return n * (*unit == 'm' ? 60 : *unit == 'h' ? 3600 : *unit == 'd' ? 86400 : 1);
}

static int compare_cells(struct libscols_cell *a, struct libscols_cell *b, void *number)
{
	const char *left = scols_cell_get_data(a), *right = scols_cell_get_data(b);
	long x = number_of(left), y = number_of(right);

	return number ? (x > y) - (x < y) : strverscmp(left, right);
}

static void add_column(struct table *table, enum column column, int flags)
{
	const bool number = dictionary[column].kind == NUMBER;
	/* libsmartcols makes a column as wide as its heading, even with --no-headings. */
	const char *name = table->options->no_headings ? "" : dictionary[column].name;

	table->columns[column] = mem_check(
		scols_table_new_column(table->scols, name, 0, flags | (number ? SCOLS_FL_RIGHT : 0)));
	scols_column_set_cmpfunc(table->columns[column], compare_cells, number ? table : NULL);
}

void table_start(struct table *table, const struct table_layout *layout, const struct table_options *options)
{
	const enum column *shown = options->output ? options->shown : layout->columns;
	enum column column;

	*table = (struct table){ .layout = layout, .options = options, .scols = mem_check(scols_new_table()) };
	if (scols_table_set_column_separator(table->scols, "  ") < 0)
		mem_out();
	scols_table_enable_noencoding(table->scols, 1);
	scols_table_enable_minout(table->scols, 1);
	scols_table_enable_noheadings(table->scols, options->no_headings);
	scols_table_set_termforce(table->scols, SCOLS_TERMFORCE_NEVER);
	for (; *shown != COL_NONE; shown++)
		add_column(table, *shown, 0);
	for (int i = 0; (column = column_of(layout, i)) != COL_NONE; i++)
		if (!table->columns[column])
			add_column(table, column, SCOLS_FL_HIDDEN);
}

void table_line(struct table *table)
{
	if (table->scols)
		table->line = mem_check(scols_table_new_line(table->scols, NULL));
	for (enum column column = COL_NONE; column < COLUMNS; column++)
		table_text(table, column, NULL);
}

/* Shows a blank at either end as \x20, because a blank would look like padding. */
static char *ends_shown(const char *word)
{
	autofree char *safe = term_safe(word);
	size_t len = strlen(safe);
	bool first = *safe == ' ', last = len > 1 && safe[len - 1] == ' ';

	return mem_format("%s%.*s%s", first ? "\\x20" : "", (int)len - first - last, safe + first, last ? "\\x20" : "");
}

void table_coloured(struct table *table, enum column column, const char *text, const char *sequence)
{
	struct libscols_column *at = table->columns[column];

	if (!at)
		return;
	autofree char *safe = ends_shown(text && *text ? text : "-");
	if (scols_line_set_column_data(table->line, at, safe) < 0)
		mem_out();
	table->has_instance |= text && *text && column == COL_INSTANCE;
	if (*sequence)
		scols_cell_set_color(scols_line_get_column_cell(table->line, at), sequence);
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

static char *draw_table(const struct table *table, bool colours)
{
	char *text = NULL;

	scols_table_enable_colors(table->scols, colours);
	if (scols_print_table_to_string(table->scols, &text) < 0)
		mem_out();
	return mem_check(text);
}

static bool fits(const struct table *table, int width)
{
	autofree char *text = draw_table(table, false);
	char *rest = text, *line;
	bool fit = true;

	while ((line = strsep(&rest, "\n")))
		fit &= term_columns(line, strlen(line)) <= width;
	return fit;
}

static void hide_column(struct libscols_column *column, bool hidden)
{
	scols_column_set_flags(column,
			       (scols_column_get_flags(column) & ~SCOLS_FL_HIDDEN) | (hidden ? SCOLS_FL_HIDDEN : 0));
}

static struct libscols_column *narrow(const struct table *table, int i)
{
	return table->columns[table->layout->narrow[i]];
}

/* Hides columns until the table fits. Returns the column whose text is to be printed below each row; NULL: none. */
static struct libscols_column *squeeze(struct table *table, int width)
{
	struct libscols_column *below = NULL, *column;
	int n = 0, others = 0;

	if (fits(table, width))
		return NULL;
	for (enum column i = COL_NONE; i < COLUMNS; i++) {
		if (!table->columns[i] || scols_column_is_hidden(table->columns[i]))
			continue;
		if (dictionary[i].kind == TEXT)
			below = table->columns[i];
		else
			others++;
	}
	/* A row needs a column beside the text that is printed below the row. */
	if (below && !others)
		return NULL;
	if (below)
		hide_column(below, true);
	for (; !table->options->output && (column = narrow(table, n)) != NULL && !fits(table, width); n++)
		hide_column(column, true);
	/* If the last hidden column was wide, those hidden before it may fit again. */
	while (n-- > 0) {
		column = narrow(table, n);
		if (table->layout->narrow[n] == COL_INSTANCE && !table->has_instance)
			continue;
		hide_column(column, false);
		hide_column(column, !fits(table, width));
	}
	return below;
}

static void print_rows(const struct table *table, size_t rows, const struct term *term, struct libscols_column *below)
{
	/* Rows that must be wrapped have no colours, because escape sequences would count as columns. */
	bool wide = term->width && !fits(table, term->width);
	autofree char *text = draw_table(table, term->colour && !wide);
	struct libscols_iter *order = mem_check(scols_new_iter(SCOLS_ITER_FORWARD));
	bool heading = !table->options->no_headings;
	struct libscols_line *row;
	char *rest = text, *line;

	for (size_t i = 0; (heading || i < rows) && (line = strsep(&rest, "\n")); heading = false) {
		const char *more = "-";

		if (!heading && scols_table_next_line(table->scols, order, &row) == 0 && below)
			more = scols_line_get_column_data(row, below);
		i += !heading;
		if (wide)
			term_wrap_printable(term, 0, TERM_INDENT, line);
		else
			fprintf(term->to, "%s\n", line);
		if (strcmp(more, "-") == 0)
			continue;
		fputs("    ", term->to);
		term_wrap_printable(term, 4, "    ", more);
	}
	scols_free_iter(order);
}

void table_end(struct table *table, const struct term *term)
{
	size_t rows = scols_table_get_nlines(table->scols);

	if (table->columns[COL_INSTANCE] && !table->has_instance && !table->options->output)
		hide_column(table->columns[COL_INSTANCE], true);
	if (table->options->sort)
		scols_sort_table(table->scols, table->columns[table->options->by]);
	/* libsmartcols prints the heading only if the table has a line. */
	if (!rows)
		mem_check(scols_table_new_line(table->scols, NULL));
	print_rows(table, rows, term, term->width ? squeeze(table, term->width) : NULL);
	scols_unref_table(table->scols);
	*table = (struct table){ 0 };
}
