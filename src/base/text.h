/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Text that came from outside, made fit to be shown, and text taken apart.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/*
 * Copies `src` to `dst` as one printable line: each byte of a character that would not be seen as itself becomes \xNN,
 * so that a domain's name can neither break a log line nor drive a terminal nor look like another name. These are
 * control characters, those that are invisible or turn the direction of writing, bytes that are not UTF-8, and the
 * backslash. Different texts stay different. Cut, between characters, where `size` (with the closing NUL) ends. Returns
 * the bytes written without the NUL.
 *
 * Names are kept and compared as they are; only what goes to a terminal or a log is made printable, once.
 */
size_t text_safe(char *dst, size_t size, const char *src);

/* The largest size that text_safe() needs for this text. */
size_t text_safe_size(const char *src);

/* The same for a text that is printable already: its backslashes stay. `ascii`: for a locale that is not UTF-8. */
size_t text_safe_again(char *dst, size_t size, const char *src, bool ascii);

/*
 * From now on text_safe() gives each command that a message advises this --root: "run 'vgpu-lease gc'" becomes "run
 * 'vgpu-lease --root DIR gc'". Whoever words a message need not know of it. NULL: the commands stay.
 */
void text_set_root(const char *root);

/* How the command that begins at `at` is to begin, in place of TEXT_COMMAND; NULL: none does, or it stays. */
#define TEXT_COMMAND "'vgpu-lease"
const char *text_command(const char *at);

/* Prints a line, made printable. */
void text_line(FILE *to, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Copies as much of `src`, as it is, as dst[size] takes, cut between characters. */
void text_cut(char *dst, size_t size, const char *src);

/*
 * The bytes of the UTF-8 character at `at`, which is not at its end; 0 where there is none: a bad or cut one, overlong,
 * a surrogate.
 */
size_t text_char_len(const char *at);

/* The number of that character; `len` is what text_char_len() says. */
unsigned text_char(const char *at, size_t len);

/* Is a character seen as itself: neither a control nor invisible, and does it leave the direction of writing alone? */
bool text_char_shows(unsigned c);

/* Copies `src` into dst[size]; false, and dst empty, where it does not fit: nothing is ever cut silently. */
bool text_copy(char *dst, size_t size, const char *src);

/* Appends to the text in buf[size]; what does not fit is cut. */
void text_add(char *buf, size_t size, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Cuts white space off both ends, in place; returns the first byte that is kept. */
char *text_strip(char *s);

/* Takes the next item of a list separated by any of `seps`, stripped; NULL at the end. Empty items are skipped. */
char *text_next(char **list, const char *seps);

/* A whole decimal number within [min, max]; false for anything else, white space and signs before digits included. */
bool text_number(const char *s, long min, long max, long *out);

/*
 * Which of several words was meant: the most similar one, with at most two mistakes, and with the same numbers: another
 * number is another thing. `best` is NULL while none is.
 */
struct text_guess {
	const char *word, *best;
	int distance; /* of best: letters that are missing, added, replaced or swapped */
};

/* Offers a word, which must stay. */
void text_guess(struct text_guess *guess, const char *candidate);
