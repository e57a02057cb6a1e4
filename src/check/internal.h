/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Shared by the checks: how they report, and what check.c calls.
 *
 *     check_warn(check_at_path(check, "etc/..."), "remove it", "is not a directory");
 */
#pragma once

#include "check/check.h"
#include "act/lifecycle.h"

/* These set the place of the next finding only: any text, FILE:LINE, or a path of the host. They return `check`. */
struct check *check_at(struct check *check, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
struct check *check_at_location(struct check *check, struct location at);
struct check *check_at_path(struct check *check, const char *path);

/* Adds a finding. CHECK_PASS needs no `fix`. */
void check_report(struct check *check, enum check_status status, const char *fix, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
#define check_pass(check, ...) check_report(check, CHECK_PASS, NULL, __VA_ARGS__)
#define check_warn(check, fix, ...) check_report(check, CHECK_WARN, fix, __VA_ARGS__)
#define check_fail(check, fix, ...) check_report(check, CHECK_FAIL, fix, __VA_ARGS__)

/* Formats the fix of the next finding. */
const char *check_fix(struct check *check, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Makes check->plan for this request, without reading the host again. */
int check_plan(struct check *check, const struct config *config, const struct request *request, enum plan_mode mode,
	       struct err *err);

/* Reports what cannot be read: as a failure for root, as a warning for other users, who have fewer rights. */
void check_unreadable(struct check *check, const char *fix, const struct err *err);
/* Does the error (positive) mean that this user may not look, but root might? */
bool check_denied(int code);

/* These need the pool. */
void check_cards(struct check *check);
void check_starts(struct check *check);
void check_definitions(struct check *check);

void check_hook(struct check *check);

/*
 * check_libvirt.c: asks systemd when a running unit such as libvirtd.service last started or reloaded, which no file
 * records. *wall_us: microseconds of CLOCK_REALTIME; 0: systemd does not know. Waits at most three seconds. Fails if
 * systemd cannot be asked.
 */
int reload_ask(const char *unit, int64_t *wall_us, struct err *err);

void check_domains(struct check *check);
void check_state(struct check *check);

/* These need the store. */
void check_locks(struct check *check);
void check_handler(struct check *check);
void check_garbage(struct check *check);
void check_leases(struct check *check);
void check_quotas(struct check *check);
bool check_serves_projects(const struct config *config); /* does any project have a quota above 0? */
