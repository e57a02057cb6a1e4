/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The hook, built so that the allocation number NO_MEMORY_AT finds no memory; the file NO_MEMORY_SEEN is made then. Of
 * the project's own allocations: all go through base/mem.
 */
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_reallocarray(void *p, size_t n, size_t size);
char *__real_strdup(const char *s);
char *__real_strndup(const char *s, size_t n);
int __real_vasprintf(char **text, const char *fmt, va_list ap);
FILE *__real_fopencookie(void *cookie, const char *mode, cookie_io_functions_t functions);

void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_reallocarray(void *p, size_t n, size_t size);
char *__wrap_strdup(const char *s);
char *__wrap_strndup(const char *s, size_t n);
int __wrap_vasprintf(char **text, const char *fmt, va_list ap);
FILE *__wrap_fopencookie(void *cookie, const char *mode, cookie_io_functions_t functions);

/* Is there none for this one? */
static bool fails(void)
{
	static atomic_int count; /* shared with a timed child */
	const char *at = getenv("NO_MEMORY_AT"), *seen = getenv("NO_MEMORY_SEEN");

	if (!at || !seen || atomic_fetch_add(&count, 1) + 1 != atoi(at))
		return false;
	close(open(seen, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	return true;
}

void *__wrap_malloc(size_t size)
{
	return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
	return fails() ? NULL : __real_calloc(n, size);
}

void *__wrap_reallocarray(void *p, size_t n, size_t size)
{
	return fails() ? NULL : __real_reallocarray(p, n, size);
}

char *__wrap_strdup(const char *s)
{
	return fails() ? NULL : __real_strdup(s);
}

char *__wrap_strndup(const char *s, size_t n)
{
	return fails() ? NULL : __real_strndup(s, n);
}

int __wrap_vasprintf(char **text, const char *fmt, va_list ap)
{
	return fails() ? -1 : __real_vasprintf(text, fmt, ap);
}

FILE *__wrap_fopencookie(void *cookie, const char *mode, cookie_io_functions_t functions)
{
	return fails() ? NULL : __real_fopencookie(cookie, mode, functions);
}
