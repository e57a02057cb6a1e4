/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The whole test framework: TAP on stdout. A test reads as a sentence:
 *
 *     ok(lease_put(s, &b, &err) == -EEXIST, "another domain is refused: %s", err.text);
 *
 * Each main() ends with `return tap_done();`. Called by hand, from any directory, a test finds its tree: $srcdir and
 * $builddir are set before main(), unless they are in the environment. What nearly every test includes comes with it.
 * A function of a given form, in the place of a real one or called back, need not use all of its arguments; a row of a
 * table ends with its last member that is not 0.
 */
#pragma once

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/mem.h"

#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

static int tap_run, tap_failed;

/* How the compiler was given the source tree: relative to the build directory, or absolute. */
#define TAP_SOURCE_LENGTH (sizeof(__FILE__) - sizeof("tests/lib/tap.h"))

__attribute__((constructor(101))) static inline void tap_directories(void)
{
	char exe[PATH_MAX] = "", *end = NULL, *source = NULL;

	if (readlink("/proc/self/exe", exe, sizeof(exe) - 1) < 0)
		return;
	for (char *next = exe; (next = strstr(next, "/tests/")); next++)
		end = next;
	if (!end)
		return;
	*end = '\0';
	setenv("builddir", exe, 0);
	if (asprintf(&source, "%s%s%.*s", *__FILE__ == '/' ? "" : exe, *__FILE__ == '/' ? "" : "/",
		     (int)TAP_SOURCE_LENGTH, __FILE__) >= 0 &&
	    realpath(source, exe))
		setenv("srcdir", exe, 0);
	free(source);
}

/* The file's name within the source tree. */
static inline const char *tap_file(const char *file)
{
	return strncmp(file, __FILE__, TAP_SOURCE_LENGTH) == 0 ? file + TAP_SOURCE_LENGTH : file;
}

/* Says which row of a table is about this sentence: a test of rows fails in its loop. */
static inline void tap_row(const char *file, const char *sentence)
{
	char line[1024], quoted[1024], *path = NULL;
	FILE *f = NULL;

	snprintf(quoted, sizeof(quoted), "\"%s\"", sentence);
	if (asprintf(&path, "%s/%s", getenv("srcdir"), tap_file(file)) >= 0)
		f = fopen(path, "r");
	for (int n = 1; f && fgets(line, sizeof(line), f); n++)
		if (strstr(line, quoted))
			printf("# row: %s:%d\n", tap_file(file), n);
	if (f)
		fclose(f);
	free(path);
}

/* A function behind the macro: the condition is evaluated once. */
__attribute__((format(printf, 4, 5))) static inline bool tap_ok(bool pass, const char *file, int line, const char *fmt,
								...)
{
	va_list ap;

	tap_run++;
	printf("%sok %d - ", pass ? "" : "not ", tap_run);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
	if (!pass) {
		tap_failed++;
		printf("# failed at %s:%d\n", tap_file(file), line);
		va_start(ap, fmt);
		if (strcmp(fmt, "%s") == 0)
			tap_row(file, va_arg(ap, const char *));
		va_end(ap);
	}
	fflush(stdout);
	return pass;
}

#define ok(condition, ...) tap_ok((condition), __FILE__, __LINE__, __VA_ARGS__)

/* The same, with what the test's `err` says then. */
#define ok_err(condition, sentence) ok(condition, sentence ": %s", err.text)

/* Compares two texts and shows both where they differ. */
static inline bool tap_is(const char *got, const char *expected, const char *file, int line, const char *what)
{
	bool same = got && expected ? strcmp(got, expected) == 0 : got == expected;

	tap_ok(same, file, line, "%s", what);
	if (!same)
		printf("# got:  %s\n# expected: %s\n", got ? got : "(null)", expected ? expected : "(null)");
	return same;
}

#define is(got, expected, what) tap_is((got), (expected), __FILE__, __LINE__, (what))

static inline int tap_done(void)
{
	printf("1..%d\n", tap_run);
	return tap_failed ? 1 : 0;
}

/* for (EACH_TEST(a, b)): each of these functions, as `*test`. */
#define EACH_TEST(...)                                                                                                 \
	void (*const *test)(void) = (void (*const[])(void)){ __VA_ARGS__, NULL };                                      \
	*test;                                                                                                         \
	test++

/* The main() of a test that only calls these functions. */
#define TESTS(...)                                                                                                     \
	int main(void)                                                                                                 \
	{                                                                                                              \
		for (EACH_TEST(__VA_ARGS__))                                                                           \
			(*test)();                                                                                     \
		return tap_done();                                                                                     \
	}

/* for (ROWS(row, rows)): each row of a table. */
#define ROWS(row, rows)                                                                                                \
	const __typeof__((rows)[0]) *row = (rows);                                                                     \
	row < (rows) + sizeof(rows) / sizeof((rows)[0]);                                                               \
	row++

/* For a bound of time: a busy machine can make something slower, but nothing faster. */
#define at_best(condition) ((condition) || (condition) || (condition) || (condition) || (condition))

/* Does it hold now, or within a minute? A bound for what has failed: whatever succeeds does so sooner. */
#define eventually(condition)                                                                                          \
	({                                                                                                             \
		bool held = (condition);                                                                               \
                                                                                                                       \
		for (int tries = 0; tries < 6000 && !held; tries++) {                                                  \
			usleep(10000);                                                                                 \
			held = (condition);                                                                            \
		}                                                                                                      \
		held;                                                                                                  \
	})
