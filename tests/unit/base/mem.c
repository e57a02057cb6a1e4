/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Lists that grow, and the end of a program without memory. */
#include <sys/wait.h>

#include "base/mem.h"
#include "lib/messages.h"

/* Else AddressSanitizer ends the program by itself. */
const char *__asan_default_options(void) __attribute__((visibility("default")));
const char *__asan_default_options(void)
{
	return "allocator_may_return_null=1";
}

static void lists(void)
{
	long *list = NULL, wrong = 0;
	size_t n = 0;

	for (long i = 0; i < 1000; i++) {
		long *added = mem_add(&list, &n, sizeof(*list));

		wrong += *added != 0 || added != list + i;
		*added = i;
	}
	for (long i = 0; i < 1000; i++)
		wrong += list[i] != i;
	ok(n == 1000 && wrong == 0, "a list grows by zeroed elements, and keeps those that it has");
	n = 3;
	*(long *)mem_add(&list, &n, sizeof(*list)) = 7;
	ok(n == 4 && list[2] == 2 && list[3] == 7, "also after it was shortened");
	n = 0;
	mem_add(&list, &n, sizeof(*list));
	ok(n == 1 && list[0] == 0, "or emptied");
	mem_free(list);
}

static void arenas(void)
{
	struct arena *arena = mem_arena(1 << 20);
	char *ours = mem_strdup("ours"), *its;
	size_t len = 0;
	FILE *stream;

	ok(mem_use(arena) == NULL, "from now on memory is taken from an arena");
	lists();
	its = mem_format("%d of it", 1);
	ok(strcmp(its, "1 of it") == 0 && its > (char *)arena && its < (char *)arena + (1 << 20), "so is a text");
	mem_free(its);
	mem_free(ours);
	stream = mem_open(&its, &len);
	fputs("a stream", stream);
	mem_close(stream);
	ok(strcmp(its, "a stream") == 0, "so is the text of a stream");
	ok(mem_use(NULL) == arena && strcmp(its, "a stream") == 0, "what is freed there stays until the arena ends");
	mem_arena_end(arena);
	mem_arena_end(NULL);
}

static void streams(void)
{
	char *text = NULL;
	size_t len = 0;
	FILE *stream = mem_open(&text, &len);

	fprintf(stream, "%d", 42);
	mem_close(stream);
	ok(len == 2 && strcmp(text, "42") == 0, "a stream to memory");
	free(text);
	mem_close(mem_open(&text, &len));
	ok(len == 0 && *text == '\0', "an empty one");
	free(text);
	stream = mem_open(&text, &len);
	for (int i = 0; i < 100000; i++)
		fputc('a' + i % 26, stream);
	mem_close(stream);
	ok(len == 100000 && strlen(text) == len && text[99999] == 'a' + 99999 % 26, "a long one");
	free(text);
}

static void too_much(void)
{
	mem_new(SIZE_MAX / 2, 1);
}

static void too_many(void)
{
	mem_resize(NULL, SIZE_MAX / 2, 16);
}

static void full_arena(void)
{
	mem_use(mem_arena(1024));
	for (int i = 0; i < 1024; i++)
		mem_strdup("one more");
}

static void nothing_returned(void)
{
	mem_check(NULL);
}

/* The exit status of a process that does this; `status` is what it has set, negative: nothing. */
static int ends_with(void (*what)(void), int status, char *said, size_t size)
{
	int fds[2], end = 0;
	ssize_t n;
	pid_t pid;

	if (pipe(fds) < 0 || (pid = fork()) < 0)
		return -1;
	if (pid == 0) {
		dup2(fds[1], STDERR_FILENO);
		if (status >= 0)
			mem_exit_status(status);
		what();
		_exit(99);
	}
	close(fds[1]);
	waitpid(pid, &end, 0);
	n = read(fds[0], said, size - 1);
	said[n > 0 ? n : 0] = '\0';
	close(fds[0]);
	return WIFEXITED(end) ? WEXITSTATUS(end) : -1;
}

static void without_memory(void)
{
	void (*const ways[])(void) = { too_much, too_many, nothing_returned, full_arena };
	char said[512];

	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		ok(ends_with(ways[i], -1, said, sizeof(said)) == 1, "without memory the program fails");
		ok(says(said, "M_OUT_OF_MEMORY"), "and says so");
		ok(ends_with(ways[i], 0, said, sizeof(said)) == 0, "or ends with the status that was set");
	}
}

TESTS(lists, arenas, streams, without_memory)
