/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A unified diff of two texts that differ in a few places, as a rewritten domain does. It is not always the shortest.
 */
#pragma once

#include <stddef.h>
#include <stdio.h>

struct diff_text {
	const char *name; /* in the head of the diff */
	const char *text;
	size_t len;
};

/* Prints the diff with three lines of context, so that patch(1) takes it; nothing where both are the same. */
void diff_print(FILE *to, const struct diff_text *was, const struct diff_text *is);
