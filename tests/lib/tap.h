/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The whole test framework: TAP on stdout. A test reads as a sentence:
 *
 *     ok(lease_put(s, &b, &err) == -EEXIST, "another domain is refused: %s", err.text);
 *
 * Each main() ends with `return tap_done();`.
 */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static int tap_run, tap_failed;

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
	if (!pass) {
		tap_failed++;
		printf("\n# failed at %s:%d", file, line);
	}
	printf("\n");
	fflush(stdout);
	return pass;
}

#define ok(condition, ...) tap_ok((condition), __FILE__, __LINE__, __VA_ARGS__)

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
