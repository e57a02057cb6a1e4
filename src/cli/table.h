/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Tables, laid out by libsmartcols: the only module that knows it.
 *
 * A column means the same in every command: enum column has them all. An unknown value is "-", so that awk finds each
 * column; nothing is cut, and all is printable. On a terminal that is too narrow, the text of the last column (why,
 * what to do) stands below its line, and then columns are left out, those that matter least first. Without a terminal,
 * and with columns that were asked for, all of them are printed.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "base/err.h"
#include "cli/term.h"

/* All columns, by their headings, and what stands in them: WORD, NUMBER, or TEXT, which may go below its line. */
#define TABLE_COLUMNS(X)                                                                                               \
	X(OUTCOME, WORD), X(ID, WORD), X(PGPU, WORD), X(TYPE, WORD), X(NAME, WORD), X(CLASS, WORD), X(MODEL, WORD),    \
		X(PARENT, WORD), X(NUMA, NUMBER), X(VFS, NUMBER), X(MIB, NUMBER), X(HEADS, NUMBER),                    \
		X(RESOLUTION, WORD), X(CAPACITY, NUMBER), X(USED, NUMBER), X(AVAILABLE, NUMBER), X(HOST, NUMBER),      \
		X(FRAMEWORK, WORD), X(DOMAIN, WORD), X(INSTANCE, WORD), X(STATE, WORD), X(ORIGIN, WORD),               \
		X(OWNER, WORD), X(PROJECT, WORD), X(AGE, NUMBER), X(SINCE, WORD), X(LIBVIRT, WORD), X(LEASE, WORD),    \
		X(KERNEL, WORD), X(OPEN, NUMBER), X(PGPUS, WORD), X(PROVIDER, WORD), X(TOTAL, NUMBER),                 \
		X(TRAITS, WORD), X(NOTE, TEXT), X(REASON, TEXT)

#define TABLE_COLUMN(name, kind) COL_##name
enum column { COL_NONE, TABLE_COLUMNS(TABLE_COLUMN), COLUMNS };

/* A command's columns. Each list ends with COL_NONE. */
struct table_layout {
	enum column columns[16];
	enum column more[8];   /* shown where they are asked for */
	enum column narrow[8]; /* left out on a narrow terminal, in this order */
	enum column if_any;    /* left out, unless it is asked for, where it is empty in each row */
};

/* As on the command line; NULL: as a rule. */
struct table_options {
	const char *output, *sort;
	bool no_headings;
};

/* -EINVAL: a column that the table does not have; the text names those that it has. */
int table_check(const struct table_layout *layout, const struct table_options *options, struct err *err);

struct table {
	const struct table_layout *layout;
	const struct table_options *options;
	struct libscols_table *scols;
	struct libscols_column *columns[COLUMNS]; /* NULL: the table does not have it */
	int widths[COLUMNS];                      /* of each, with its heading */
	struct libscols_line *line;               /* that is being filled */
	bool any;                                 /* a row has something in the layout's `if_any` */
};

/* Begins a table. The options have been checked. */
void table_start(struct table *table, const struct table_layout *layout, const struct table_options *options);

/* Begins a row of empty cells. One that was not started, { 0 }, has no rows. */
void table_line(struct table *table);

/* A cell of the row, if the table has its column: NULL and "" are empty, a negative number is not known. */
void table_text(struct table *table, enum column column, const char *text);
void table_number(struct table *table, enum column column, int number);

/* The same with the colour of an escape sequence. */
void table_coloured(struct table *table, enum column column, const char *text, const char *sequence);

/* Prints the whole rows and frees the table. */
void table_end(struct table *table, FILE *to, const struct term *term);
