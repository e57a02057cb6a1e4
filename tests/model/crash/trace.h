/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A process killed before one of its system calls, with its children or without. Depends on: ptrace(2). */
#pragma once

#include <stdbool.h>

enum trace_calls {
	TRACE_CHANGES, /* those that may change something, of the process and of its children */
	TRACE_EVERY,   /* all of the process and of its children */
	TRACE_ALONE,   /* all of the process; its children go on alone */
};

/*
 * Has `run` called in a child, where it does not return, and kills that before its `limit`-th system call of `which`,
 * with its children unless they are to go on alone. False: it ended by itself before. *calls: those that were seen;
 * *first: which of them was the first that can change something.
 */
bool trace_killed_at(void (*run)(const char *op, const char *xml), const char *op, const char *xml, int limit,
		     enum trace_calls which, int *calls, int *first);
