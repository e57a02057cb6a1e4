/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One error: built where it happens, printed once by main().
 *
 * A function that can fail returns 0 or a negative errno and takes `struct err *err` last. The text names the object,
 * the cause and, if there is one, the fix. It is made where the failure is detected; callers add (err_in) only what they
 * alone know. It lives on main()'s stack and never allocates, so that reporting cannot fail.
 */
#pragma once

#include <stdio.h>

enum {
	ERR_TEXT_MAX = 1000, /* bytes of the line that libvirt shows, with the newline */
	ERR_WORD_SIZE = 96,
};

/* What has to be corrected, if the errno alone does not tell. */
enum err_about { ERR_ANY, ERR_STATE, ERR_CONFIG };

struct err {
	int code; /* a positive errno; 0: no error */
	enum err_about about;
	size_t where;             /* so many bytes of the text, "FILE:LINE: " or "FILE: ", say where; 0: none do */
	char word[ERR_WORD_SIZE]; /* of the text, which is not known: somebody may know what was meant; "" none */
	size_t cause; /* the cause begins behind so many bytes, which name the object; 0: the text is all there is */
	char text[4096];
};

/* Sets the error; returns -code, so that `return err_set(...)` is the whole failure path. */
int err_set(struct err *err, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* The same, with ": " and what the system says of `code` behind it. */
int err_sys(struct err *err, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* What the system calls this errno; a driver can answer with a number that has no name. */
const char *err_describe(int code);

/* Puts "context: " before the error's text; returns its negative code. */
int err_in(struct err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The text begins with so many bytes that say where: "FILE:LINE: ". Returns its negative code. */
int err_at(struct err *err, size_t where);

/* The text has this word, which is not known (at most ERR_WORD_SIZE bytes of it). Returns its negative code. */
int err_word(struct err *err, const char *word);

/* Behind so many bytes, "creating vGPU UUID: ", the text gives the cause alone. Returns its negative code. */
int err_cause(struct err *err, size_t cause);

/* The error is about that; returns its negative code. */
int err_about(struct err *err, enum err_about about);

/* The same text under another code, where the callers tell failures apart by it; returns -code. */
int err_recode(struct err *err, int code);

/* That line, without its newline; returns its length. */
size_t err_line(char line[ERR_TEXT_MAX], const char *prefix, const struct err *err);

/* Prints "prefix: text" as exactly one line of at most ERR_TEXT_MAX bytes; control characters are shown as \xNN. */
void err_print(FILE *to, const char *prefix, const struct err *err);
