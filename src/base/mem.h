/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Allocates memory, and frees or closes what a variable has at the end of its scope. If memory runs out, the program
 * ends, with one line on standard error and in the log; ARCHITECTURE.md says why that does no harm. Free memory with
 * free(), or with mem_free() if an arena may be in use.
 */
#pragma once

#include <dirent.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Sets the exit status of a program that runs out of memory; the default is 1. */
void mem_exit_status(int status);

/* mem_out() calls `word` before it ends the program. */
void mem_last_word(void (*word)(void));

_Noreturn void mem_out(void);

/* Returns `p`, which a library allocated. NULL ends the program. */
void *mem_check(void *p);

/* mem_new() returns `n` zeroed elements. mem_alloc() and mem_resize() do not zero the memory that they add. */
void *mem_alloc(size_t size) __attribute__((returns_nonnull, malloc));
void *mem_new(size_t n, size_t size) __attribute__((returns_nonnull, malloc));
void *mem_resize(void *list, size_t n, size_t size) __attribute__((returns_nonnull));

/* Appends a zeroed element to the array *list of *n elements, and returns it. */
void *mem_add(void *list, size_t *n, size_t size) __attribute__((returns_nonnull));

/* qsort() that accepts NULL for an array without elements. */
void mem_sort(void *list, size_t n, size_t size, int (*order)(const void *a, const void *b));

/* for (EACH(const struct lease *, lease, leases->list, leases->n)) loops over an array; C does not allow NULL + 0. */
#define EACH(type, item, list, n)                                                                                      \
	type item = (list);                                                                                            \
	(item) && (item) < (list) + (n);                                                                               \
	(item)++

char *mem_strdup(const char *s) __attribute__((returns_nonnull, malloc));
char *mem_strndup(const char *s, size_t n) __attribute__((returns_nonnull, malloc));
char *mem_format(const char *fmt, ...) __attribute__((format(printf, 1, 2), returns_nonnull, malloc));
char *mem_vformat(const char *fmt, va_list ap) __attribute__((format(printf, 1, 0), returns_nonnull, malloc));

/*
 * An arena is memory shared with a forked child, so that the parent can use what the child builds there. `size` limits
 * the total ever allocated; untouched pages cost nothing. A full arena ends the program.
 */
struct arena;
struct arena *mem_arena(size_t size) __attribute__((returns_nonnull));
void mem_arena_end(struct arena *arena); /* accepts NULL */

/* Returns zeroed memory, freed with the arena. */
void *mem_take(struct arena *arena, size_t size) __attribute__((returns_nonnull));

/* Allocates from this arena from now on; NULL: from the heap. Returns the previous arena. */
struct arena *mem_use(struct arena *arena);

/* Frees heap memory. Ignores memory of the arena in use. */
void mem_free(void *p);

/* Opens a stream to memory, like open_memstream(3). Only mem_close() sets *text and *len. */
FILE *mem_open(char **text, size_t *len) __attribute__((returns_nonnull));
void mem_close(FILE *stream);

/* autofree, autoclose, autoclosedir and autofclose free or close a variable at the end of its scope. */
static inline void auto_free(void *p)
{
	mem_free(*(void **)p);
}

static inline void auto_close(const int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void auto_closedir(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

static inline void auto_fclose(FILE **file)
{
	if (*file)
		fclose(*file);
}

#define autofree __attribute__((cleanup(auto_free)))
#define autoclose __attribute__((cleanup(auto_close)))
#define autoclosedir __attribute__((cleanup(auto_closedir)))
#define autofclose __attribute__((cleanup(auto_fclose)))

/* Returns the descriptor and sets the variable to -1, so that the end of its scope does not close it. */
static inline int steal_fd(int *fd)
{
	int r = *fd;

	*fd = -1;
	return r;
}

/* Returns the pointer and sets the variable to NULL, so that the end of its scope does not free it. */
static inline void *steal_ptr(void *pp)
{
	void *r = *(void **)pp;

	*(void **)pp = NULL;
	return r;
}

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
