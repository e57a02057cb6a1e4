/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A unified diff of two texts that differ in a few places, as a rewritten domain does. It is not always the shortest.
 */
#pragma once

#include <stddef.h>
#include <stdio.h>

/*
 * Prints the diff with three lines of context, so that patch(1) takes it; nothing where both are the same. `was_name`
 * and `is_name` stand in its head.
 */
void diff_print(FILE *to, const char *was_name, const char *was, size_t was_len, const char *is_name, const char *is,
		size_t is_len);
