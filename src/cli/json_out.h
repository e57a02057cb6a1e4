/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A small writer of JSON (RFC 8259): objects and arrays, one member a line, as people and programs both read it.
 *
 * What is written is always valid: strings are made so (bytes that are no UTF-8 become U+FFFD), and whoever opens
 * closes. Within an object each call names its member; within an array `key` is NULL. Where `json` is NULL, nothing is
 * written: what is printed as a table or as JSON has each member behind its cell.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

enum { JSON_OUT_DEPTH = 16 };

struct json_out {
	FILE *to;
	int depth;
	char close[JSON_OUT_DEPTH]; /* what ends each level that is open */
	bool empty;                 /* nothing stands on this level yet */
};

/* Begins the document, which is an object; json_out_end() ends it, and what is open in it, with a newline. */
void json_out_begin(struct json_out *json, FILE *to);
void json_out_end(struct json_out *json);

void json_out_object(struct json_out *json, const char *key);
void json_out_array(struct json_out *json, const char *key);

/* Ends the innermost object or array. */
void json_out_close(struct json_out *json);

/* NULL becomes null. */
void json_out_string(struct json_out *json, const char *key, const char *value);

/* The same for a text that may be "" where there is none. */
void json_out_text(struct json_out *json, const char *key, const char *value);

void json_out_bool(struct json_out *json, const char *key, bool value);
void json_out_number(struct json_out *json, const char *key, long value);

/* Truth, or a number, that is negative where it is not known: null. */
void json_out_maybe(struct json_out *json, const char *key, int value);
void json_out_known(struct json_out *json, const char *key, long value);
