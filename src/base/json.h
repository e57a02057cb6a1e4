/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A small, strict reader of JSON: members of one object. Members that are not requested are checked and skipped. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { JSON_DEPTH = 32 };

struct json_field {
	const char *key;
	char *value; /* the decoded text; "" if the member is missing */
	size_t size;
	/* `value` NULL: the member is a list of one-member objects, each passed to pair(); false: invalid. */
	bool (*pair)(void *arg, const char *name, const char *value);
	void *arg;
	bool found;
};

/*
 * Reads the members `fields` of the object `text`. Returns NULL, or a description of what is wrong:
 *   - the text is not one valid JSON object (RFC 8259);
 *   - a requested member appears twice, or is not a string (with `pair`: not a list of pairs of strings);
 *   - a requested string does not fit, or has characters outside ASCII.
 * In a list, a name must have fewer than 64 bytes, a value fewer than 1024.
 */
const char *json_read(const char *text, struct json_field *fields, size_t nfields);
