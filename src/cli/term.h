/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The terminal on standard output or standard error, and texts and tables that fit it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/err.h"

struct term {
	FILE *to;    /* standard output or error, or a stream that collects the output */
	int width;   /* in columns; 0: not a terminal */
	bool colour; /* false without a terminal or TERM, with TERM=dumb, or with NO_COLOR */
	bool utf8;   /* the locale is UTF-8; false without a terminal */
};

/* The first call also sets LC_CTYPE from the environment. */
const struct term *term_stdout(void);
const struct term *term_stderr(void);

#define TERM_BOLD "\033[1m"
#define TERM_DIM "\033[2m"
#define TERM_RED "\033[31m"
#define TERM_GREEN "\033[32m"
#define TERM_YELLOW "\033[33m"
#define TERM_PLAIN "\033[0m"

/* "" if standard output has no colours. */
const char *term_colour(const char *sequence);

/* Makes a text printable in the terminal's locale. The caller frees the result. */
char *term_safe(const char *text);

/* The columns of the first `len` bytes of a printable text. */
int term_columns(const char *text, size_t len);

/* The margin of a continuation line. */
#define TERM_INDENT "    "

/*
 * Print a text and a newline from column `at` on. Lines break between words, and begin with `margin`, or with
 * TERM_INDENT if a margin of blanks is too wide. term_wrap() makes the text printable, for standard output.
 */
void term_wrap(int at, const char *margin, const char *text);
void term_wrap_printable(const struct term *term, int at, const char *margin, const char *text);

/* Like term_wrap(), after a word that ends in column `at`. Begins in column `from`, or two after a long word. */
void term_wrap_behind(int at, int from, const char *text);

/*
 * Tables, laid out by libsmartcols. An unknown value is "-", so that awk counts columns correctly. On a narrow terminal,
 * a cell of kind TEXT is printed below its row, and the least important columns are omitted.
 *
 * The headings of all columns, and their kinds:
 */
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
