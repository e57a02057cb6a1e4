/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A small, strict reader of JSON: the members of one object, the items of one array.
 *
 * What it is not asked for it checks and skips. It holds nothing, allocates nothing, and goes JSON_DEPTH levels deep
 * at most.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { JSON_DEPTH = 32 };

struct json_field {
	const char *key;
	char *value; /* the decoded text; "" where the member is missing */
	size_t size;
	bool raw; /* whatever value it is, as it stands in the text */
	bool found;
};

/*
 * Reads the members `fields` of the object that `text` is. NULL on success, else what is wrong with it in a few words:
 * no valid JSON (RFC 8259), another value than an object, a wanted member that is no string (and not `raw`), comes
 * twice, does not fit, or holds characters outside ASCII.
 */
const char *json_read(const char *text, size_t len, struct json_field *fields, size_t nfields);

/* Takes the only member of the object in `text`, a string; false if `text` is anything else. */
bool json_pair(const char *text, char *key, size_t key_size, char *value, size_t value_size);

/*
 * Copies the next item of the array `text`, a value of any kind, as it is written there. *at is 0 before the first
 * item, and moves behind each that is copied. 1; 0 if no item is left and the text is valid JSON; -1 if it is invalid
 * or the item does not fit.
 */
int json_next(const char *text, size_t *at, char *buf, size_t size);
