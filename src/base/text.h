/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Makes untrusted text printable, and parses text. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/*
 * Copies `src` to `dst` as one printable line, so that a domain's name cannot break a log line, control a terminal or
 * look like another name. Returns the number of bytes written, without the NUL.
 *
 * What text_char_shows() rejects, bytes that are not UTF-8, and backslashes become \xNN, so different texts stay
 * different. The text is cut between characters to fit `size`. Names are made printable once, when they are written to
 * a terminal or log.
 */
size_t text_safe(char *dst, size_t size, const char *src);

/* The whole text of text_safe(); the caller frees it. */
char *text_safe_copy(const char *src);

/* text_safe() for a text that text_safe() has made printable. `ascii`: only ASCII is printable. */
size_t text_safe_again(char *dst, size_t size, const char *src, bool ascii);

/*
 * Makes text_safe() insert --root and --config (NULL: not given) into each command that a message advises: "run
 * 'vgpu-lease gc'" becomes "run 'vgpu-lease --root DIR gc'".
 */
void text_set_options(const char *root, const char *config);

/* The text that replaces TEXT_COMMAND at `at`; NULL: nothing is replaced. */
#define TEXT_COMMAND "'vgpu-lease"
const char *text_command(const char *at);

/* A domain's name for an advised command: `name`, or `uuid` if `name` is long or not one shell word. */
const char *text_operand(const char *name, const char *uuid);

/* Prints the text as a line of text_safe(). */
void text_line(FILE *to, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Copies `src` unchanged into dst[size], cut between characters if it does not fit. */
void text_cut(char *dst, size_t size, const char *src);

/* Returns the length of the UTF-8 character at `at`, and its code point in *c. 0: invalid or incomplete. */
size_t text_char(const char *at, unsigned *c);

/* False for control and invisible characters, and characters that change the direction of writing. */
bool text_char_shows(unsigned c);

/* Copies `src` into dst[size]. If it does not fit, returns false and empties dst. */
bool text_copy(char *dst, size_t size, const char *src);

/* Appends to the text in buf[size], and cuts what does not fit. */
void text_add(char *buf, size_t size, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Cuts white space from both ends, in place; returns the first byte that is kept. */
char *text_strip(char *s);

/* Returns the next item, stripped, of a list separated by any of `seps`; NULL at the end. Empty items are skipped. */
char *text_next(char **list, const char *seps);

/* Orders for mem_sort() and bsearch(): texts or structs that begin with a text; text_order_at(): pointers to texts. */
int text_order(const void *a, const void *b);
int text_order_at(const void *a, const void *b);

/* Finds a text, or a struct that begins with it, among `n` elements of `size` bytes; NULL: not found. */
void *text_find(const void *list, size_t n, size_t size, const char *text);

/* Parses a decimal integer from min to max. Returns false for all other text, such as leading white space or '+'. */
bool text_number(const char *s, long min, long max, long *out);

/*
 * The candidate that a misspelt word probably means: the most similar one, with at most two mistakes, and with the same
 * numbers, because another number names another object.
 */
struct text_guess {
	const char *word, *best;
	int distance; /* mistakes in `best`: letters missing, added, replaced or swapped */
};

/* The candidate must outlive `guess`. */
void text_guess(struct text_guess *guess, const char *candidate);

/* Sets of CPUs or NUMA nodes, in the notation of the kernel and libvirt: "0-3,8" or "0-7,^5". */
enum { CPUS_MAX = 16384, CPU_WORDS = CPUS_MAX / 64 }; /* libvirt's maximum number of CPUs */

/*
 * Adds the list's numbers below `nbits`, a multiple of 64, to the set: N is bit N % 64 of bits[N / 64]. False: the list
 * is invalid, and the set unchanged. An empty list is valid.
 */
bool text_cpuset(const char *list, uint64_t *bits, size_t nbits);
