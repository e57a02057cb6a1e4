/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One error: built where it happens, printed once by main(). A function that can fail takes `struct err *err` last. The
 * function that detects a failure writes the text: the object, the cause and, if there is one, the fix. Nothing is
 * allocated, so that reporting an error cannot fail.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

enum {
	ERR_TEXT_MAX = 1000, /* bytes of a printed line, newline included */
	ERR_WORD_SIZE = 96,
};

/* Where the fault is, if the errno does not say it: in the state or in the configuration. */
enum err_about { ERR_ANY, ERR_STATE, ERR_CONFIG };

struct err {
	int code; /* a positive errno; 0: no error */
	enum err_about about;
	size_t where;             /* length of the text's prefix "FILE:LINE: " or "FILE: "; 0: none */
	char word[ERR_WORD_SIZE]; /* an unknown word in the text, cut; or "" */
	size_t cause; /* offset of the cause in the text, after the object's name; 0: the whole text is the cause */
	char text[1024];
};

/* Sets the error and returns -code, so that a caller can `return err_set(...)`. */
int err_set(struct err *err, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* err_set(), followed by ": " and the system's description of `code`. */
int err_sys(struct err *err, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* The system's description of an errno; "unknown error" for other numbers, which a driver can return. */
const char *err_describe(int code);

/* True for EACCES if the user is not root, because root may have access. */
bool err_denied(int code);

/* If the user is not root, adds "run as root" to a permission error. */
void err_advise_root(struct err *err);

/* Puts "context: " before the error's text. Returns the negative code. */
int err_in(struct err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Sets the offset of the cause, after a prefix such as "creating vGPU UUID: ". Returns the negative code. */
int err_cause(struct err *err, size_t cause);

/* Sets `about`. Returns the negative code. */
int err_about(struct err *err, enum err_about about);

/* Replaces the code and keeps the text. Returns -code. */
int err_recode(struct err *err, int code);

/* Writes the line of err_print() without the newline. Returns its length. */
size_t err_line(char line[ERR_TEXT_MAX], const char *prefix, const struct err *err);

/* Prints "prefix: text" as one line of at most ERR_TEXT_MAX bytes, with control characters as \xNN. */
void err_print(FILE *to, const char *prefix, const struct err *err);
