/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The checks report to check.c like this: check_warn(check_at_path(check, "etc/..."), FIX, "is not a directory"). */
#pragma once

#include "check/check.h"

/* Sets the name of the running check. The findings that follow are about the host, until one of check_at(). */
void check_begin(struct check *check, const char *what);

/* Set the place of the findings that follow: a text, FILE:LINE, or a path of the host. Return `check`. */
struct check *check_at(struct check *check, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
struct check *check_at_location(struct check *check, struct location at);
struct check *check_at_path(struct check *check, const char *path);
struct check *check_at_definition(struct check *check, const char *name);

void check_report(struct check *check, enum check_status status, const char *fix, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
#define check_pass(check, ...) check_report(check, CHECK_PASS, NULL, __VA_ARGS__)
#define check_warn(check, fix, ...) check_report(check, CHECK_WARN, fix, __VA_ARGS__)
#define check_fail(check, fix, ...) check_report(check, CHECK_FAIL, fix, __VA_ARGS__)

/* Reports a mistake or warning of the configuration. Its FILE:LINE becomes the place of the finding. */
void check_note(struct check *check, enum check_status status, const struct err *note, const char *fix);

/* Formats a fix. The text is valid until the next call. */
const char *check_fix(struct check *check, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Plans the request into check->plan, without reading the host again. Negative: no plan can be made. */
int check_plan(struct check *check, const struct config *config, const struct request *request, enum plan_mode mode,
	       struct err *err);

/* Reports a read error: as a warning if err_denied(err->code), else as a failure. */
void check_unreadable(struct check *check, const char *fix, const struct err *err);

/* check_cards(), check_starts() and check_definitions() need check->inv; check_domains() needs check->disk. */
void check_cards(struct check *check);
void check_starts(struct check *check);
void check_definitions(struct check *check);

void check_hook(struct check *check);

/*
 * Asks systemd when the unit last started or reloaded; waits at most three seconds. *wall_us: microseconds of
 * CLOCK_REALTIME; 0: unknown. Negative: systemd cannot be asked.
 */
int reload_ask(const char *unit, int64_t *wall_us, struct err *err);

void check_domains(struct check *check);
void check_running(struct check *check); /* reports vGPUs that are missing from running domains */
void check_state(struct check *check);
bool check_can_lease(const struct check *check); /* false: check_state() fails, because the state cannot be written */
bool check_serves_projects(const struct config *config); /* can any project lease a vGPU? */
