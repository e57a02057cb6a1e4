/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A small writer of JSON (RFC 8259): objects and arrays, one member per line for people and programs alike.
 *
 * The output is always valid: bytes that are not UTF-8 become U+FFFD, and the end closes what is open. Each call names
 * its member within an object; within an array `key` is NULL. If `json` is NULL, nothing is written, so that the same
 * code prints a table or JSON.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

enum { JSON_OUT_DEPTH = 16 };

struct json_out {
	FILE *to;
	int depth;
	char close[JSON_OUT_DEPTH]; /* the closing bracket of each open level */
	bool empty;                 /* the innermost level has no member yet */
};

/* Begins the document, which is an object. json_out_end() closes all that is open and adds a newline. */
void json_out_begin(struct json_out *json, FILE *to);
void json_out_end(struct json_out *json);

void json_out_object(struct json_out *json, const char *key);
void json_out_array(struct json_out *json, const char *key);

/* Ends the innermost object or array. */
void json_out_close(struct json_out *json);

/* Writes null for a NULL `value`. */
void json_out_string(struct json_out *json, const char *key, const char *value);

/* Writes null for a NULL or empty `value`. */
void json_out_text(struct json_out *json, const char *key, const char *value);

void json_out_bool(struct json_out *json, const char *key, bool value);
void json_out_number(struct json_out *json, const char *key, long value);

/* Write a boolean or a number; null for a negative `value`, which means unknown. */
void json_out_maybe(struct json_out *json, const char *key, int value);
void json_out_known(struct json_out *json, const char *key, long value);
