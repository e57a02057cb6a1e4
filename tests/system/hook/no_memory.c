/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The hook, whose allocation (base/mem) number NO_MEMORY_AT fails, which makes the file NO_MEMORY_SEEN. */
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_reallocarray(void *p, size_t n, size_t size);
void *__real_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset);
FILE *__real_fopencookie(void *cookie, const char *mode, cookie_io_functions_t functions);

static bool fails(void)
{
	static atomic_int count;
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

void *__wrap_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
	return fails() ? MAP_FAILED : __real_mmap(at, size, protection, flags, fd, offset);
}

FILE *__wrap_fopencookie(void *cookie, const char *mode, cookie_io_functions_t functions)
{
	return fails() ? NULL : __real_fopencookie(cookie, mode, functions);
}
