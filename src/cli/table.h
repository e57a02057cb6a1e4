/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A table for people: a heading, aligned columns, two spaces between them; nothing is cut, and all is printable.
 *
 * An empty cell is shown as "-", so that a column can be taken out with awk. The last column may hold spaces.
 */
#pragma once

#include <stddef.h>
#include <stdio.h>

enum { TABLE_COLUMNS = 12 };

struct table {
	size_t ncolumns;
	char **cells; /* row by row, the heading first */
	size_t ncells;
};

/* Begins a table with this heading. */
#define table_start(to, ...)                                                                                           \
	do {                                                                                                           \
		*(to) = (struct table){ 0 };                                                                           \
		table_row(to, __VA_ARGS__);                                                                            \
		(to)->ncolumns = (to)->ncells;                                                                         \
	} while (0)

/* Adds the next cells, row by row; NULL is an empty one. */
#define table_row(to, ...)                                                                                             \
	table_add(to, (const char *const[]){ __VA_ARGS__ },                                                            \
		  sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(const char *))
void table_add(struct table *table, const char *const *cells, size_t n);
void table_addf(struct table *table, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Adds a number; one that is negative is not known. */
void table_number(struct table *table, int number);

/* Prints the whole rows and frees the table. */
void table_end(struct table *table, FILE *to);
