/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A small, strict reader of JSON: the members of one object, the items of one array.
 *
 * Members that the caller does not request are checked and skipped. The reader keeps no state, allocates nothing, and
 * accepts at most JSON_DEPTH levels.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { JSON_DEPTH = 32 };

struct json_field {
	const char *key;
	char *value; /* the decoded text; "" if the member is missing */
	size_t size;
	bool raw; /* accept any value, and copy it as it is written */
	bool found;
};

/*
 * Reads the members `fields` of the object `text`. Returns NULL, or what is wrong: invalid JSON (RFC 8259), not an
 * object, or a requested member that is not a string (unless `raw`), appears twice, does not fit, or has characters
 * outside ASCII.
 */
const char *json_read(const char *text, size_t len, struct json_field *fields, size_t nfields);

/* Reads the only member of the object `text`, which must be a string; returns false if `text` is anything else. */
bool json_pair(const char *text, char *key, size_t key_size, char *value, size_t value_size);

/*
 * Copies the next item of the array `text`, a value of any kind, as it is written. *at is 0 for the first item; each
 * call moves it past the item. Returns:
 *   1: an item was copied
 *   0: no item is left, and the text is valid JSON
 *   -1: the text is invalid, or the item does not fit
 */
int json_next(const char *text, size_t *at, char *buf, size_t size);
