/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Output that commands share: JSON, text, and rows that are printed as a table or as JSON. */
#pragma once

#include <time.h>

#include "cli/term.h"
#include "config/config.h"
#include "model/lease.h"
#include "decide/capacity.h"

/*
 * JSON (RFC 8259), one member per line. Bytes that are not UTF-8 become U+FFFD. In an array, `key` is NULL. Nothing is
 * written if `json` is NULL.
 */
enum { JSON_OUT_DEPTH = 16 };

struct json_out {
	FILE *to;
	int depth;
	char close[JSON_OUT_DEPTH]; /* the closing bracket of each open level */
	bool empty;                 /* the innermost level has no member yet */
};

/* The document is an object. json_out_end() closes all that is open. */
void json_out_begin(struct json_out *json, FILE *to);
void json_out_end(struct json_out *json);

void json_out_object(struct json_out *json, const char *key);
void json_out_array(struct json_out *json, const char *key);
void json_out_close(struct json_out *json);

/* NULL, "" and negative numbers mean unknown and become null. */
void json_out_string(struct json_out *json, const char *key, const char *value);
void json_out_bool(struct json_out *json, const char *key, int value);
void json_out_number(struct json_out *json, const char *key, long value);

/* Print a line, made printable, and wrapped on a terminal: on standard output, and on standard error. */
void out_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void out_error(const char *prefix, const struct err *err);
void out_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Prints a line with a key and a text; nothing if the text is empty. */
void out_fact(const char *key, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Prints "TEXT ..." if standard error is a terminal, unless `silent`; the next of these functions removes the line. */
void out_progress(bool silent, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void out_progress_end(void);

/* A time as ISO 8601 in UTC, and the time since `boot_ms` (CLOCK_MONOTONIC) as "42s", "5m", "3h" or "2d". */
void out_time(char out[32], time_t seconds);
void out_age(char out[32], int64_t boot_ms);

/* Parses a local time, or a UTC time of out_time(). *us: microseconds since 1970, at least 1. False: not a time. */
#define EVENTS_SINCE_FORMS "YYYY-MM-DD [HH:MM[:SS]], today, -30m, -1h or -2d"
bool events_since(int64_t *us, const char *text, time_t now);

/* A list, printed as a table or as an array of JSON objects. A call sets the field's column or its member. */
struct rows {
	struct json_out *json; /* NULL: a table is printed */
	struct table table;
};
void row_begin(struct rows *rows);
void row_text(struct rows *rows, enum column column, const char *member, const char *text);
void row_number(struct rows *rows, enum column column, const char *member, int number);
void row_end(struct rows *rows);

/* Write a vGPU's fields; its lease's state and domain; or all of its lease's fields and `mib`. `lease` can be NULL. */
void row_vgpu(struct rows *rows, const struct vgpu_ref *vgpu);
void row_lease(struct rows *rows, const struct lease *lease);
void row_whole_lease(struct rows *rows, const struct lease *lease, int mib);

void row_type(struct rows *rows, const struct inv_type *type, const struct config *config);
void row_count(struct rows *rows, const struct capacity_count *count);

void out_json_domain(struct json_out *json, const char *uuid, const char *name);

/* The class of an enabled type; NULL: not enabled. */
const char *out_class(const struct config *config, const char *type);
