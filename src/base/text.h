/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Makes untrusted text printable, and parses text. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/*
 * Copies `src` to `dst` as one printable line, so that a domain's name cannot break a log line, control a terminal or
 * look like another name. Control and invisible characters, characters that change the direction of writing, bytes that
 * are not UTF-8, and backslashes become \xNN. Different texts stay different. The text is cut between
 * characters to fit `size`, NUL included. Returns the number of bytes written, without the NUL.
 *
 * Names are stored and compared unchanged; they are made printable once, when they are written to a terminal or log.
 */
size_t text_safe(char *dst, size_t size, const char *src);

/* A size that is large enough for text_safe() of this text. */
size_t text_safe_size(const char *src);

/* text_safe() for a text that is already printable: backslashes stay unchanged. `ascii`: only ASCII is printable. */
size_t text_safe_again(char *dst, size_t size, const char *src, bool ascii);

/*
 * Makes text_safe() insert this --root into each command that a message advises: "run 'vgpu-lease gc'" becomes "run
 * 'vgpu-lease --root DIR gc'", so that messages need not name --root. NULL: commands stay unchanged.
 */
void text_set_root(const char *root);

/* Returns the replacement for TEXT_COMMAND at `at`; NULL: no command begins there, or it stays unchanged. */
#define TEXT_COMMAND "'vgpu-lease"
const char *text_command(const char *at);

/* Returns what to call a domain in an advised command: `name`, or `uuid` if `name` is long or not one shell word. */
const char *text_operand(const char *name, const char *uuid);

/* Makes the text printable with text_safe(), and prints it as a line. */
void text_line(FILE *to, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Copies `src` unchanged into dst[size], cut between characters if it does not fit. */
void text_cut(char *dst, size_t size, const char *src);

/* The length of the UTF-8 character at `at`, and its code point in *c; 0: it is invalid, or cut by the text's end. */
size_t text_char(const char *at, unsigned *c);

/* False for control characters, invisible ones, and those that change the direction of writing. */
bool text_char_shows(unsigned c);

/* Copies `src` into dst[size]. If it does not fit, returns false and empties dst: nothing is ever cut silently. */
bool text_copy(char *dst, size_t size, const char *src);

/* Appends to the text in buf[size]; what does not fit is cut. */
void text_add(char *buf, size_t size, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Removes white space from both ends, in place; returns the first byte that is kept. */
char *text_strip(char *s);

/* Returns the next item, stripped, of a list separated by any of `seps`; NULL at the end. Empty items are skipped. */
char *text_next(char **list, const char *seps);

/* Compares texts, or structs that begin with a text, for mem_sort() and bsearch(); text_order_at(): text pointers. */
int text_order(const void *a, const void *b);
int text_order_at(const void *a, const void *b);

/* Finds a text, or a struct that begins with it, among `n` elements of `size` bytes; NULL: not found. */
void *text_find(const void *list, size_t n, size_t size, const char *text);

/* Parses a decimal integer within [min, max]; false for anything else, including leading white space or '+'. */
bool text_number(const char *s, long min, long max, long *out);

/*
 * Finds the candidate that a misspelt word probably means: the most similar one, with at most two mistakes. It must
 * have the word's numbers, because another number names another object. `best` is NULL until a candidate qualifies.
 */
struct text_guess {
	const char *word, *best;
	int distance; /* of `best`: the number of letters missing, added, replaced or swapped */
};

/* Considers a candidate. The string must outlive `guess`. */
void text_guess(struct text_guess *guess, const char *candidate);

/* Sets of small numbers (CPUs, NUMA nodes) in the notation of the kernel and libvirt, such as "0-3,8" or "0-7,^5". */
enum { CPUS_MAX = 16384, CPU_WORDS = CPUS_MAX / 64 }; /* libvirt's limit for CPUs */

/*
 * Adds the list's numbers to the set: number N is bit N % 64 of bits[N / 64]. Ignores numbers from `nbits` up; `nbits`
 * is a multiple of 64. If the list is invalid, returns false and leaves the set unchanged. An empty list is valid.
 */
bool text_cpuset(const char *list, uint64_t *bits, size_t nbits);
