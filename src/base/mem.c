/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Memory, or the end of the program. */
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int exit_status = 1;
static void (*last_word)(void);

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

void *mem_alloc(size_t size)
{
	return mem_check(malloc(size));
}

void *mem_new(size_t n, size_t size)
{
	return mem_check(calloc(n, size));
}

void *mem_resize(void *list, size_t n, size_t size)
{
	return mem_check(reallocarray(list, n, size));
}

void *mem_add(void *list, size_t *n, size_t size)
{
	char *items = *(void **)list;

	/* There is space up to the next power of two. */
	if ((*n & (*n - 1)) == 0)
		items = mem_resize(items, *n ? 2 * *n : 1, size);
	*(void **)list = items;
	return memset(items + (*n)++ * size, 0, size);
}

char *mem_strdup(const char *s)
{
	return mem_check(strdup(s));
}

char *mem_strndup(const char *s, size_t n)
{
	return mem_check(strndup(s, n));
}

char *mem_vformat(const char *fmt, va_list ap)
{
	char *text;

	if (vasprintf(&text, fmt, ap) < 0)
		mem_out();
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

/* open_memstream(3) of glibc 2.36 drops what it has no memory for, and says so to nobody. */
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
	free(stream);
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
