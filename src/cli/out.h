/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Output that commands share: JSON, lines for people, and objects that tables and JSON show with the same fields. */
#pragma once

#include <time.h>

#include "cli/table.h"
#include "config/config.h"
#include "model/lease.h"
#include "check/check.h"
#include "decide/capacity.h"

/*
 * A writer of JSON (RFC 8259): objects and arrays, one member per line for people and programs alike.
 *
 * The output is always valid: bytes that are not UTF-8 become U+FFFD, and json_out_end() closes what is open. Each call
 * names its member within an object; within an array `key` is NULL. If `json` is NULL, nothing is written, so that the
 * same code prints a table or JSON.
 */
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

void json_out_close(struct json_out *json);

/* Write a string, or null for a NULL `value`; json_out_text() writes null also for "". */
void json_out_string(struct json_out *json, const char *key, const char *value);
void json_out_text(struct json_out *json, const char *key, const char *value);

/* Write a boolean or a number; null for a negative `value`, which means unknown. */
void json_out_bool(struct json_out *json, const char *key, int value);
void json_out_number(struct json_out *json, const char *key, long value);

/* Prints one line, made printable, on standard output; on a terminal wrapped at words. */
void out_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Prints "prefix: text" on standard error like err_print(); on a terminal wrapped at words. */
void out_error(const char *prefix, const struct err *err);

/* Prints "vgpu-lease: warning: ..." as one line on standard error. */
void out_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/*
 * Prints a progress line "TEXT ..." before a slow step, if standard error is a terminal and not `silent`.
 * out_progress_end() removes it; out_say() and out_error() do so first.
 */
void out_progress(bool silent, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void out_progress_end(void);

/* Converts a time to ISO 8601 in UTC. */
void out_time(char out[32], time_t seconds);

/* The time elapsed since `boot_ms` (CLOCK_MONOTONIC): "42s", "5m", "3h", "2d". */
void out_age(char out[32], int64_t boot_ms);

/*
 * Parses a time of --since, in the common forms of journalctl(1) and in that of out_time(): microseconds since 1970, at
 * least 1. Other dates and days are local. False: not a time.
 */
#define EVENTS_SINCE_FORMS "YYYY-MM-DD [HH:MM[:SS]], today, yesterday, -1h, '2 days ago' or @SECONDS"
bool events_since(int64_t *us, const char *text, time_t now);

/*
 * A list, printed as rows of a table or as objects of a JSON array. Each call names a field's column and its member.
 * Members have the order of the calls; cells have the order of the table's layout, which can omit columns. For a field
 * that only one form has, call the functions of `table` or `json`: they do nothing if the other form is printed.
 */
struct rows {
	struct json_out *json; /* NULL: a table is printed */
	struct table table;
};
void row_begin(struct rows *rows);
void row_text(struct rows *rows, enum column column, const char *member, const char *text); /* NULL or "": no value */
void row_number(struct rows *rows, enum column column, const char *member, int number);
void row_end(struct rows *rows);

/* The fields of a vGPU and of its lease (NULL: none). `mib` is the vGPU's framebuffer. */
void row_vgpu(struct rows *rows, const struct vgpu_ref *vgpu);
void row_lease(struct rows *rows, const struct lease *lease); /* only its state and domain */
void row_whole_lease(struct rows *rows, const struct lease *lease, int mib);

/* The fields of a type, with its class if it is enabled, and the counts of its vGPUs. */
void row_type(struct rows *rows, const struct inv_type *type, const struct config *config);
void row_count(struct rows *rows, const struct capacity_count *count);

/* Writes the member "domain" of the open object. */
void out_json_domain(struct json_out *json, const char *uuid, const char *name);

/* PASS, WARN or FAIL, and "WHERE: TEXT; FIX". The caller frees the text. */
extern const char *const out_finding_words[];
char *out_finding_text(const struct finding *finding);

/* The class of an enabled type; NULL: not enabled. */
const char *out_class(const struct config *config, const char *type);
