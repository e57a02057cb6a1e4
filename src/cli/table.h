/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Tables, laid out by libsmartcols. An unknown value is "-", so that awk counts columns correctly. On a narrow terminal,
 * a cell of kind TEXT is printed below its row, and the least important columns are omitted.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "cli/term.h"

/* The headings of all columns, and their kinds. */
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

/* The columns of a command's table. COL_NONE ends each list. */
struct table_layout {
	enum column columns[16];
	enum column more[8];   /* shown only with --output */
	enum column narrow[8]; /* omitted on a narrow terminal, in this order */
};

/* The options of the command line. NULL: not given. */
struct table_options {
	const char *output, *sort;
	bool no_headings;
	/* Set by table_check(). */
	enum column shown[COLUMNS]; /* of `output`; COL_NONE ends the list */
	enum column by;             /* of `sort` */
};

/* -EINVAL: a column is unknown or given twice. */
int table_check(const struct table_layout *layout, struct table_options *options, struct err *err);

struct table {
	const struct table_layout *layout;
	const struct table_options *options;
	struct libscols_table *scols;
	struct libscols_column *columns[COLUMNS]; /* NULL: not in the table */
	struct libscols_line *line;
	bool has_instance; /* some row has an INSTANCE; false: the column is omitted, except with --output */
};

/* Call table_check() first. A table that was not started ignores its rows. */
void table_start(struct table *table, const struct table_layout *layout, const struct table_options *options);
void table_line(struct table *table);

/* Set a cell of the row, if the table has the column. NULL, "" and negative numbers mean unknown. */
void table_text(struct table *table, enum column column, const char *text);
void table_number(struct table *table, enum column column, int number);
void table_coloured(struct table *table, enum column column, const char *text, const char *sequence);

/* Prints and frees the table. */
void table_end(struct table *table, const struct term *term);
