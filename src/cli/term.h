/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The properties of the terminal on standard output or standard error, and texts that fit it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct term {
	FILE *to;    /* standard output or error, or a stream that collects the output */
	int width;   /* in columns; 0: not a terminal */
	bool colour; /* false without a terminal or TERM, with TERM=dumb, or with NO_COLOR */
	bool utf8;   /* the locale is UTF-8; false without a terminal */
};

/* The first call reads the properties, and sets LC_CTYPE from the environment. */
const struct term *term_stdout(void);

const struct term *term_stderr(void);

#define TERM_BOLD "\033[1m"
#define TERM_DIM "\033[2m"
#define TERM_RED "\033[31m"
#define TERM_GREEN "\033[32m"
#define TERM_YELLOW "\033[33m"
#define TERM_PLAIN "\033[0m"

/* Returns the sequence if the terminal has colours, else "". */
const char *term_colour(const struct term *term, const char *sequence);

/* Makes a text printable, as \xNN outside ASCII if the terminal's locale is not UTF-8. The caller frees the result. */
char *term_safe(const char *text);

/* Returns the columns that the first `len` bytes of a printable text take. */
int term_columns(const char *text, size_t len);

/* The margin of a continuation line. */
#define TERM_INDENT "    "

/*
 * Prints a text, made printable, from column `at` on, and a newline. Breaks lines between words; a new line begins with
 * `margin`, or with TERM_INDENT if a margin of blanks is too wide.
 */
void term_wrap(const struct term *term, int at, const char *margin, const char *text);

/* term_wrap() for a text that is already printable. */
void term_wrap_printable(const struct term *term, int at, const char *margin, const char *text);

/*
 * Prints a text as term_wrap() does, behind a word that ends in column `at`. The text begins in column `from` or,
 * behind a long word, after two blanks.
 */
void term_wrap_behind(const struct term *term, int at, int from, const char *text);
