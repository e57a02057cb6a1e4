/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A process killed before one of its system calls, with its children or without. Depends on: ptrace(2). */
#pragma once

#include <stdbool.h>

/*
 * Has `run` called in a child, where it does not return, and kills that before its `limit`-th system call. False: it
 * ended by itself before. *calls: those that were seen; *first: which of them was the first that can change something.
 * With `family` its children count, and are killed beside it.
 */
bool trace_killed_at(void (*run)(const char *op, const char *xml), const char *op, const char *xml, int limit,
		     bool family, int *calls, int *first);
