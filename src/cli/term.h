/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The properties of the terminal on standard output or standard error: its width, and what it can show. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct term {
	FILE *to;    /* standard output or error, or a stream that collects the output */
	int width;   /* in columns; 0: not a terminal, lines may have any length */
	bool colour; /* a terminal whose TERM is neither unset nor "dumb", unless NO_COLOR is set */
	bool utf8;   /* the locale is UTF-8; false without a terminal, so that a log stays plain ASCII */
};

/* Reads the properties once. Sets LC_CTYPE from the environment. */
const struct term *term_stdout(void);

const struct term *term_stderr(void);

#define TERM_BOLD "\033[1m"
#define TERM_DIM "\033[2m"
#define TERM_RED "\033[31m"
#define TERM_GREEN "\033[32m"
#define TERM_YELLOW "\033[33m"
#define TERM_PLAIN "\033[0m"

/* The sequence if the terminal has colours, else "". */
const char *term_colour(const struct term *term, const char *sequence);

/*
 * Makes a text printable; the caller frees it. On a terminal whose locale is not UTF-8, each byte outside ASCII becomes
 * \xNN, as in ls; a script gets names unchanged.
 */
char *term_safe(const char *text);

/* The width in columns of the first `len` bytes of a printable text. */
int term_columns(const char *text, size_t len);

/* The margin of a continuation line. */
#define TERM_INDENT "    "

/*
 * Prints a text, made printable, from column `at` on, and a newline. What does not fit continues on lines that begin
 * with `margin`, or with TERM_INDENT if a margin of many blanks leaves too few columns. Words are never broken.
 */
void term_wrap(const struct term *term, int at, const char *margin, const char *text);

/* term_wrap() for a text that text_safe(), or the program that wrote the text, has already made printable. */
void term_wrap_printable(const struct term *term, int at, const char *margin, const char *text);

/* term_wrap() after a word that ends in column `at`: the text begins in column `from`, or later after two blanks. */
void term_wrap_behind(const struct term *term, int at, int from, const char *text);
