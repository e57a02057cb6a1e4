/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Memory, or the end of the program. Without memory the program ends at once, with one line in the log and on standard
 * error. It could be killed at any instant without harm, and this is no different: so nothing here returns NULL.
 * Callers free memory with free(), or with mem_free() if an arena may be in use.
 */
#pragma once

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

/* Sets the exit status for the end without memory, which is 1 otherwise. */
void mem_exit_status(int status);

/* Sets a function to call right before that end. */
void mem_last_word(void (*word)(void));

/* Ends the program, as there is no memory. */
_Noreturn void mem_out(void);

/* Returns what a library has returned, which is NULL only if there is no memory. */
void *mem_check(void *p);

/* mem_alloc() does not zero; mem_new() returns `n` zeroed elements; mem_resize() does not zero what it adds. */
void *mem_alloc(size_t size) __attribute__((returns_nonnull, malloc));
void *mem_new(size_t n, size_t size) __attribute__((returns_nonnull, malloc));
void *mem_resize(void *list, size_t n, size_t size) __attribute__((returns_nonnull));

/* Appends a zeroed element to the array *list of *n elements; returns it. */
void *mem_add(void *list, size_t *n, size_t size) __attribute__((returns_nonnull));

char *mem_strdup(const char *s) __attribute__((returns_nonnull, malloc));
char *mem_strndup(const char *s, size_t n) __attribute__((returns_nonnull, malloc));
char *mem_format(const char *fmt, ...) __attribute__((format(printf, 1, 2), returns_nonnull, malloc));
char *mem_vformat(const char *fmt, va_list ap) __attribute__((format(printf, 1, 0), returns_nonnull, malloc));

/*
 * An arena is memory that a child shares with its parent, who can use what the child has built there. `size` limits all
 * that is ever taken; pages that nobody touches cost nothing. A full arena ends the program, as without memory.
 */
struct arena;
struct arena *mem_arena(size_t size) __attribute__((returns_nonnull));
void mem_arena_end(struct arena *arena); /* takes NULL */

/* Returns zeroed memory, which ends with the arena. */
void *mem_take(struct arena *arena, size_t size) __attribute__((returns_nonnull));

/*
 * From now on all functions here take memory from this arena; NULL: from the heap. Returns what they used before. For a
 * process of one thread.
 */
struct arena *mem_use(struct arena *arena);

/* Frees whatever a function here has returned, from the heap or an arena. */
void mem_free(void *p);

/* Opens a stream to memory, like open_memstream(3), except that only mem_close() sets *text and *len. */
FILE *mem_open(char **text, size_t *len) __attribute__((returns_nonnull));
void mem_close(FILE *stream);
