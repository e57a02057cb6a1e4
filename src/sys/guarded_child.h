/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Runs the rest of the caller in a child, so that a crash cannot change the exit status of this process. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * Forks. Returns:
 *   a descriptor: in the child, for guarded_child_give()
 *   -1: there can be no child, so the caller does the work itself
 *   GUARDED_CHILD_ENDED: in the parent, after the child's end. *status (waitpid(2)) is 0 after a normal end.
 * The parent prints on standard output only what the child has given whole.
 */
enum { GUARDED_CHILD_ENDED = -2 };
int guarded_child_begin(int *status);

/* Has the parent print the data. `parent`: the descriptor from guarded_child_begin(). Negative errno: not printed. */
int guarded_child_give(int parent, const char *data, size_t len);
