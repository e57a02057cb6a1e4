/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A unified diff of two texts with the same number of lines: edits within lines, as a rewritten domain has them.
 *
 * Depends on: libc. Knows nothing of XML.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/*
 * Prints the diff with three lines of context, so that patch(1) takes it; nothing where both are the same. `was_name`
 * and `is_name` stand in its head. False, and nothing is printed, where the numbers of lines differ.
 */
bool diff_print(FILE *to, const char *was_name, const char *was, size_t was_len, const char *is_name, const char *is,
		size_t is_len);
