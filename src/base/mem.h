/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Memory, or the end of the program. Without memory it ends at once, with one line in the log and on standard error: as
 * if killed, which is harmless at any instant. So nothing here returns NULL, and no caller handles that. What is
 * returned is freed with free(), or mem_free() where an arena can be in use.
 */
#pragma once

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

/* The exit status without memory; 1 if this is never called. For the program's main process. */
void mem_exit_status(int status);

/* What is called right before that end. */
void mem_last_word(void (*word)(void));

/* Ends the program. */
_Noreturn void mem_out(void);

/* What a library returned, which is NULL only without memory. */
void *mem_check(void *p);

/* Not zeroed; `n` zeroed elements; an array that is resized, where what is new is not zeroed. */
void *mem_alloc(size_t size) __attribute__((returns_nonnull, malloc));
void *mem_new(size_t n, size_t size) __attribute__((returns_nonnull, malloc));
void *mem_resize(void *list, size_t n, size_t size) __attribute__((returns_nonnull));

/* Adds a zeroed element to the list of *n that *list points to; returns it. */
void *mem_add(void *list, size_t *n, size_t size) __attribute__((returns_nonnull));

char *mem_strdup(const char *s) __attribute__((returns_nonnull, malloc));
char *mem_strndup(const char *s, size_t n) __attribute__((returns_nonnull, malloc));
char *mem_format(const char *fmt, ...) __attribute__((format(printf, 1, 2), returns_nonnull, malloc));
char *mem_vformat(const char *fmt, va_list ap) __attribute__((format(printf, 1, 0), returns_nonnull, malloc));

/*
 * An arena: memory that a child shares with its parent, so that what it has built there is the parent's as it is. Its
 * size is that of all that is ever taken; what is not touched costs nothing. One that is full is memory that is not
 * there.
 */
struct arena;
struct arena *mem_arena(size_t size) __attribute__((returns_nonnull));
void mem_arena_end(struct arena *arena); /* NULL: none */

/* Zeroed memory of the arena, which ends with it. */
void *mem_take(struct arena *arena, size_t size) __attribute__((returns_nonnull));

/*
 * From now on all functions here take what they return of this arena (NULL: of the heap), in a process of one thread.
 * Returns the one before.
 */
struct arena *mem_use(struct arena *arena);

/* free(), of whatever a function of this file has returned. */
void mem_free(void *p);

/* A stream to memory, as that of open_memstream(3), but *text and *len are set by mem_close() only. */
FILE *mem_open(char **text, size_t *len) __attribute__((returns_nonnull));
void mem_close(FILE *stream);
