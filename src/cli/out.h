/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the commands print alike: lines for people, and each noun as JSON in the same members. */
#pragma once

#include "cli/json_out.h"
#include "cli/table.h"
#include "config/config.h"
#include "model/lease.h"
#include "ops/check.h"
#include "plan/capacity.h"

/* Prints one line on standard output, made printable; on a terminal wrapped at words. */
void out_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Prints a document as it is; on a terminal each line made printable, but for its tabs. */
void out_document(const char *text);

/* Prints "prefix: text" as one line on standard error, as err_print() does; on a terminal wrapped at words. */
void out_error(const char *prefix, const struct err *err);

/* Prints "vgpu-lease: warning: ..." as one line on standard error. */
void out_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/*
 * Says "... ..." on standard error, if that is a terminal and not `silent`, before what may take long. Nothing else may
 * be printed until out_progress_end(), which is given what this returns, and removes the line.
 */
int out_progress(bool silent, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void out_progress_end(int columns);

/* A time of CLOCK_MONOTONIC on the wall clock, as ISO 8601 in UTC. */
void out_wall_time(char out[32], int64_t boot_ms);

/* How long ago it was: "42s", "5m", "3h", "2d". */
void out_age(char out[32], int64_t boot_ms);

/*
 * A list of things, as rows of a table or as objects of a JSON array: each field is named once, with its column and its
 * member. Members have the order of the calls, cells that of the table's layout, which may leave some out. Fields that
 * only one of the two has are written to `json` or to `table` alone, which ignore what is not printed.
 */
struct rows {
	struct json_out *json; /* NULL: a table, or nothing more than cells */
	struct json_out document;
	struct table table;
};
void row_begin(struct rows *rows);
void row_text(struct rows *rows, enum column column, const char *member, const char *text); /* NULL, "": none */
void row_number(struct rows *rows, enum column column, const char *member, int number);     /* negative: not known */
void row_end(struct rows *rows);

/* The fields of a vGPU, and of its lease, NULL: none; `mib` is its framebuffer. */
void row_vgpu(struct rows *rows, const struct vgpu_ref *vgpu);
void row_lease(struct rows *rows, const struct lease *lease); /* its state and domain */
void row_whole_lease(struct rows *rows, const struct lease *lease, int mib);

/* Those of a type, with its class where it is enabled, and how many vGPUs of it there can be. */
void row_type(struct rows *rows, const struct inv_type *type, const struct config *config);
void row_count(struct rows *rows, const struct capacity_count *count);

/* Members of the object that is open. */
void out_json_finding(struct json_out *json, const struct finding *finding);
void out_json_domain(struct json_out *json, const char *uuid, const char *name);

/* PASS, WARN, FAIL; and where, what, how to fix it: the caller frees it. */
extern const char *const out_finding_words[];
char *out_finding_text(const struct finding *finding);

/* The class of a type that is enabled; NULL. */
const char *out_class(const struct config *config, const char *type);
