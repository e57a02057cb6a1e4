/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Allocates memory, or ends the program. */
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int exit_status = 1;
static void (*last_word)(void);

struct arena {
	size_t size, used;
	_Alignas(max_align_t) char mem[];
};

static struct arena *in_use;

void mem_last_word(void (*word)(void))
{
	last_word = word;
}

void mem_exit_status(int status)
{
	exit_status = status;
}

void mem_out(void)
{
	static const char line[] = "vgpu-lease: out of memory\n";

	(void)!write(STDERR_FILENO, line, sizeof(line) - 1);
	if (last_word)
		last_word();
	_exit(exit_status);
}

void *mem_check(void *p)
{
	if (!p)
		mem_out();
	return p;
}

struct arena *mem_arena(size_t size)
{
	struct arena *arena = mmap(NULL, sizeof(*arena) + size, PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (arena == MAP_FAILED)
		mem_out();
	arena->size = size;
	return arena;
}

void mem_arena_end(struct arena *arena)
{
	if (arena)
		munmap(arena, sizeof(*arena) + arena->size);
}

struct arena *mem_use(struct arena *arena)
{
	struct arena *before = in_use;

	in_use = arena;
	return before;
}

void *mem_take(struct arena *arena, size_t size)
{
	char *at = arena->mem + arena->used;

	size += !size;
	if (size > arena->size - arena->used)
		mem_out();
	size = (size + sizeof(max_align_t) - 1) / sizeof(max_align_t) * sizeof(max_align_t);
	arena->used = size < arena->size - arena->used ? arena->used + size : arena->size;
	return at;
}

/* Bytes from `p` to the end of the arena in use; 0: `p` is not in it. */
static size_t arena_rest(const void *p)
{
	const char *at = p;

	return in_use && at >= in_use->mem && at < in_use->mem + in_use->size
		       ? (size_t)(in_use->mem + in_use->size - at)
		       : 0;
}

void mem_free(void *p)
{
	if (!arena_rest(p))
		free(p);
}

void *mem_alloc(size_t size)
{
	return in_use ? mem_take(in_use, size) : mem_check(malloc(size));
}

void *mem_new(size_t n, size_t size)
{
	return in_use ? mem_resize(NULL, n, size) : mem_check(calloc(n, size));
}

void *mem_resize(void *list, size_t n, size_t size)
{
	/* The old size is unknown, so memmove() can also copy bytes after the old list, even bytes of the new one. */
	size_t most = arena_rest(list), all;
	void *p;

	if (!in_use)
		return mem_check(reallocarray(list, n, size));
	if (__builtin_mul_overflow(n, size, &all))
		mem_out();
	p = mem_take(in_use, all);
	if (most)
		memmove(p, list, most < all ? most : all);
	return p;
}

void *mem_add(void *list, size_t *n, size_t size)
{
	char *items = *(void **)list;

	/* Capacities are powers of two, so the list is full if its length is 0 or a power of two. */
	if ((*n & (*n - 1)) == 0)
		items = mem_resize(items, *n ? 2 * *n : 1, size);
	*(void **)list = items;
	return memset(items + (*n)++ * size, 0, size);
}

void mem_sort(void *list, size_t n, size_t size, int (*order)(const void *a, const void *b))
{
	if (n)
		qsort(list, n, size, order);
}

char *mem_strndup(const char *s, size_t n)
{
	size_t len = strnlen(s, n);
	char *copy = mem_alloc(len + 1);

	copy[len] = '\0';
	return memcpy(copy, s, len);
}

char *mem_strdup(const char *s)
{
	return mem_strndup(s, strlen(s));
}

char *mem_vformat(const char *fmt, va_list ap)
{
	va_list again;
	char *text;
	int len;

	va_copy(again, ap);
	len = vsnprintf(NULL, 0, fmt, again);
	va_end(again);
	if (len < 0)
		mem_out();
	text = mem_alloc((size_t)len + 1);
	vsnprintf(text, (size_t)len + 1, fmt, ap);
	return text;
}

char *mem_format(const char *fmt, ...)
{
	char *text;
	va_list ap;

	va_start(ap, fmt);
	text = mem_vformat(fmt, ap);
	va_end(ap);
	return text;
}

/* Replaces open_memstream(3), which in glibc 2.36 silently drops text for which it has no memory. */
struct stream {
	char **text, *buf;
	size_t *len, used;
};

static ssize_t stream_write(void *cookie, const char *data, size_t size)
{
	struct stream *stream = cookie;

	stream->buf = mem_resize(stream->buf, stream->used + size, 1);
	memcpy(stream->buf + stream->used, data, size);
	stream->used += size;
	return (ssize_t)size;
}

static int stream_close(void *cookie)
{
	struct stream *stream = cookie;

	stream_write(stream, "", 1);
	*stream->text = stream->buf;
	*stream->len = stream->used - 1;
	mem_free(stream);
	return 0;
}

FILE *mem_open(char **text, size_t *len)
{
	static const cookie_io_functions_t functions = { .write = stream_write, .close = stream_close };
	struct stream *stream = mem_new(1, sizeof(*stream));

	stream->text = text;
	stream->len = len;
	return mem_check(fopencookie(stream, "w", functions));
}

void mem_close(FILE *stream)
{
	if (fclose(stream) != 0)
		mem_out();
}
