/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The terminal on standard output or standard error, and texts that fit it. */
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
