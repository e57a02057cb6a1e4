/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The terminal that standard output may be: how wide it is, and what it can show.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct term {
	FILE *to;    /* standard output, or where its picture is drawn */
	int width;   /* in columns; 0: not a terminal, lines may have any length */
	int height;  /* in lines; 0: not a terminal */
	bool screen; /* can be cleared: a terminal whose TERM is neither unset nor "dumb" */
	bool colour; /* the same, unless NO_COLOR is set */
	bool utf8;   /* the locale's character set; never without a terminal, so that a log stays plain ASCII */
};

/* Read once. Sets LC_CTYPE from the environment. */
const struct term *term_stdout(void);

const struct term *term_stderr(void);

/* It is read again by the next term_stdout(). */
void term_resized(void);

/* Escape sequences. */
#define TERM_BOLD "\033[1m"
#define TERM_DIM "\033[2m"
#define TERM_RED "\033[31m"
#define TERM_GREEN "\033[32m"
#define TERM_YELLOW "\033[33m"
#define TERM_PLAIN "\033[0m"

/* The sequence where the terminal has colours, else "". */
const char *term_colour(const struct term *term, const char *sequence);

/*
 * The text made printable. On a terminal whose locale is not UTF-8 each byte that is not ASCII becomes \xNN, as in ls;
 * a script gets names as they are. The caller frees it.
 */
char *term_safe(const char *text);

/* Columns that the first `len` bytes of a printable text take. */
int term_columns(const char *text, size_t len);

/* The margin of a line that goes on below. */
#define TERM_INDENT "    "

/*
 * Prints a text, made printable, from column `at` on, and a newline. What is too long for the terminal goes on below,
 * behind `margin`, or where that is of many blanks and leaves too few columns, TERM_INDENT; a word is never broken.
 */
void term_wrap(FILE *to, const struct term *term, int at, const char *margin, const char *text);

/* The same of a text that is printable already: text_safe() has seen it, or that of the program that wrote it. */
void term_wrap_printable(FILE *to, const struct term *term, int at, const char *margin, const char *text);

/* The same behind a word that ends in column `at`: all of the text begins in column `from`, two blanks on at least. */
void term_wrap_behind(FILE *to, const struct term *term, int at, int from, const char *text);
