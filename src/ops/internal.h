/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Shared by the files of this directory. For the checks: how to report, and the checks of the table in check.c.
 *
 *     check_report(check_at_path(check, "etc/..."), CHECK_WARN, "remove it", "is not a directory");
 */
#pragma once

#include "device/apply.h"
#include "ops/check.h"
#include "ops/lifecycle.h"

/* Set the place of the next finding alone: any text, FILE:LINE, or a path of the host. They return `check`. */
struct check *check_at(struct check *check, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
struct check *check_at_location(struct check *check, const struct location *at);
struct check *check_at_path(struct check *check, const char *path);

/* Adds a finding. `fix` is NULL with CHECK_PASS, and only then. */
void check_report(struct check *check, enum check_status status, const char *fix, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* Formats the fix of the next finding. */
const char *check_fix(struct check *check, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Plans a start in check->start, without reading the host again. */
int check_plan(struct check *check, const struct lifecycle *lifecycle, struct err *err);

/* Reports what cannot be read: for root as a failure; for other users, who have fewer rights, as a warning. */
void check_unreadable(struct check *check, const char *fix, const struct err *err);
/* Does the error (positive) mean that this user may not look, but root might? */
bool check_denied(int code);

/* These need the pool. */
void check_cards(struct check *check);
void check_starts(struct check *check);
void check_definitions(struct check *check);
void check_nova(struct check *check);

void check_hook(struct check *check);
void check_libvirt(struct check *check);
void check_domains(struct check *check);
void check_missing_vgpus(struct check *check);
void check_state(struct check *check);

/* These need the store. */
void check_locks(struct check *check);
void check_handler(struct check *check);
void check_garbage(struct check *check);
void check_leases(struct check *check);
void check_quotas(struct check *check);
bool check_serves_projects(const struct config *config); /* does any project have a quota above 0? */

/*
 * Handle a step that failed with `n`, or a failed removal (failed_step.c): the world records it, and the next plan
 * looks elsewhere. Negative: the domain is refused with this error.
 */
int attempt_failed(struct world *world, const struct step *step, int n, struct err *err);
void removal_failed(struct world *world, const struct plan *plan, size_t i, const struct err *err);

/*
 * Starts without a lease (lifecycle_unleased.c): returns 0 if all devices of the domain exist, or else a refusal of the
 * kind `about` that says `why` nothing can be leased.
 */
int unleased_pass(const struct lifecycle *lifecycle, const char *why, enum err_about about, struct err *err);

/*
 * For a plan (or writing its leases) that failed with `r`. Returns `r`, unless the state cannot be written: then
 * existing devices pass with a warning, as far as the other conditions can be checked.
 */
int unleased_unplanned(const struct lifecycle *lifecycle, int r, struct err *err);
int unleased_planned(struct apply *apply, const struct lifecycle *lifecycle, const struct plan *plan,
		     const struct leases *leases, int r, struct err *err);

/* Like the functions above, without the warning: for a state that was not opened, or leases that were not written. */
int unleased_unopened(const struct lifecycle *lifecycle, int r, struct err *err);
int unleased_unwritten(const struct lifecycle *lifecycle, const struct plan *plan, const struct leases *leases, int r,
		       struct err *err);
