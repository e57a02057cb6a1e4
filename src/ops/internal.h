/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Shared by the files of this directory. For the checks: how to report, and what check.c calls.
 *
 *     check_warn(check_at_path(check, "etc/..."), "remove it", "is not a directory");
 */
#pragma once

#include "ops/check.h"
#include "ops/lifecycle.h"

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

/*
 * May the domain start without a lease (lifecycle_unleased.c)? Returns 0 if all its mdevs exist. Refuses with `why`,
 * the reason why nothing can be leased, and with the kind `about`.
 */
int unleased_pass(const struct lifecycle *lifecycle, const char *why, enum err_about about, struct err *err);

/*
 * May a start that failed with `r` continue without leases? `plan`: the plan whose leases could not be written; NULL:
 * no plan was made. Returns 0 if the state cannot be written and the existing devices need no lease.
 */
int unleased_check(const struct lifecycle *lifecycle, const struct plan *plan, const struct leases *leases, int r,
		   struct err *err);

/*
 * Calls unleased_check(). If that returns 0, undoes the leases, waits until the devices are complete, and logs a
 * warning.
 */
int unleased_start(struct apply *apply, const struct lifecycle *lifecycle, const struct plan *plan,
		   const struct leases *leases, int r, struct err *err);

/*
 * adopt.c: finds the device if a domain can have it as a vGPU. It must exist with a type, or be a plain VF of the pool.
 */
bool adopt_find(struct inv_device *device, const struct inventory *inv, const char *id);

/* The caller holds the store's lock. */
struct adoption {
	const struct store *store;
	const struct inventory *inv;
	const struct request *request; /* of the domain that receives the device */
	const char *op;                /* for the log */
};

/*
 * Leases a device of adopt_find() to the domain. `there`: the device's lease, read under the lock; NULL none. If the
 * lease was lost, the history of the ID decides whether we created the device. Returns:
 *   1: a lease was written
 *   0: the domain already had an active lease of it
 *   -EEXIST: another domain has it
 *   other: an error
 */
int adopt_device(const struct adoption *adoption, const struct inv_device *device, const struct lease *there,
		 struct err *err);
