/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One error: built where it happens, printed once by main().
 *
 * A function that can fail returns 0 or a negative errno and takes `struct err *err` last. The text names the object,
 * the cause and, if there is one, the fix. The function that detects the failure writes it; callers add (err_in) only
 * what they alone know. An error lives on main()'s stack and allocates nothing, so that reporting cannot fail.
 */
#pragma once

#include <stdio.h>

enum {
	ERR_TEXT_MAX = 1000, /* bytes of the line that libvirt shows, newline included */
	ERR_WORD_SIZE = 96,
};

/* What has to be fixed, if the errno alone does not say it. */
enum err_about { ERR_ANY, ERR_STATE, ERR_CONFIG };

struct err {
	int code; /* a positive errno; 0: no error */
	enum err_about about;
	size_t where;             /* length of the text's prefix "FILE:LINE: " or "FILE: "; 0: none */
	char word[ERR_WORD_SIZE]; /* an unknown word in the text, for which a caller can suggest another; "": none */
	size_t cause;             /* offset of the cause in the text, after the object's name; 0: the whole text */
	char text[1024];          /* longer text is cut; ERR_TEXT_MAX limits the line that is shown */
};

/* Sets the error; returns -code, so that `return err_set(...)` is the whole failure path. */
int err_set(struct err *err, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* err_set(), followed by ": " and the system's description of `code`. */
int err_sys(struct err *err, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* The system's description of an errno; "unknown error" for other numbers (a driver can return any). */
const char *err_describe(int code);

/* Puts "context: " before the error's text; returns its negative code. */
int err_in(struct err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Records an unknown word that is in the text, cut to ERR_WORD_SIZE. Returns the error's negative code. */
int err_word(struct err *err, const char *word);

/* Sets the offset of the cause, which follows a prefix such as "creating vGPU UUID: ". Returns the negative code. */
int err_cause(struct err *err, size_t cause);

/* Sets what has to be fixed. Returns the error's negative code. */
int err_about(struct err *err, enum err_about about);

/* Replaces the code, by which callers distinguish failures, and keeps the text. Returns -code. */
int err_recode(struct err *err, int code);

/* Writes the line that err_print() prints, without the newline; returns the length. */
size_t err_line(char line[ERR_TEXT_MAX], const char *prefix, const struct err *err);

/* Prints "prefix: text" as exactly one line of at most ERR_TEXT_MAX bytes, with control characters as \xNN. */
void err_print(FILE *to, const char *prefix, const struct err *err);
