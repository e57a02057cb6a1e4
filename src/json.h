/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A small, strict reader of JSON: the string members of one object.
 *
 * What it is not asked for it checks and skips. It holds nothing, allocates nothing, and goes JSON_DEPTH levels deep
 * at most.
 *
 * Depends on: libc. Knows nothing of the rest.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { JSON_DEPTH = 32 };

struct json_want {
	const char *key;
	char *value; /* the decoded text; "" where the member is missing */
	size_t size;
	bool found;
};

/*
 * Reads the members `wants` of the object that `text` is. NULL on success, else what is wrong with it in a few words:
 * no valid JSON (RFC 8259), another value than an object, a wanted member that is no string, comes twice, does not
 * fit, or holds characters outside ASCII.
 */
const char *json_read(const char *text, size_t len, struct json_want *wants, size_t nwants);
