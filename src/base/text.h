/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Text that came from outside, made fit to be shown, and text taken apart.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * Copies `src` to `dst` as one printable line: control characters and bytes that are no UTF-8 become \xNN, so that a
 * domain's name can neither break a log line nor drive a terminal. Cut, between characters, where `size` (with the
 * closing NUL) ends. Returns the bytes written without the NUL.
 */
size_t text_safe(char *dst, size_t size, const char *src);

/* The same, with every byte that is not ASCII shown as \xNN: for a terminal whose locale is not UTF-8. */
size_t text_safe_ascii(char *dst, size_t size, const char *src);

/*
 * The bytes of the UTF-8 character at `at`, which is not at its end; 0 where there is none: a bad or cut one, overlong,
 * a surrogate, a C1 control.
 */
size_t text_char_len(const char *at);

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

/* Which of several words was meant: the most similar one, if it is similar enough. `best` is NULL while none is. */
struct text_guess {
	const char *word, *best;
	int distance; /* of best: letters that are missing, added, replaced or swapped */
	int most;     /* so far away it may be; 0: a third of the letters */
};

/* Offers a word, which must stay. */
void text_guess(struct text_guess *guess, const char *candidate);
