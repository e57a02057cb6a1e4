/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A line on standard error while something takes longer than a second, if that is a terminal.
 *
 * A child process draws it, so that what takes long need not know of it and is not disturbed by a timer.
 */
#pragma once

#include "cli/cmd.h"

struct progress {
	pid_t child; /* 0: none */
	int stop;    /* the end of a pipe */
};

/*
 * Prints "TEXT: N s", made printable, after the first second. Nothing else may be printed until progress_end(); a dry
 * run prints itself, and gets no line.
 */
struct progress progress_begin(const struct cmd *cmd, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Removes the line. */
void progress_end(struct progress *progress);
