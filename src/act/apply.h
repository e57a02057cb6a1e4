/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Carries out the steps of a plan: first writes the leases, then sysfs; undoes both on failure.
 *
 * Each step holds its vGPU's work lock at least until its lease is `active`. A step that creates also holds its pGPU's
 * lock. The store's lock is held only while leases are written.
 */
#pragma once

#include "config/config.h"
#include "base/err.h"
#include "decide/plan.h"
#include "state/store.h"

/* What one run has done for one vGPU of the request. */
struct applied {
	struct lease now; /* as this run wrote it; since_ms 0: not written yet; empty vgpu.id: nothing was done */
	int work;         /* the vGPU's work lock; -1: not held */
	bool kept;        /* the domain had the device before: an undo leaves the lease */
	bool released;    /* the device is from an unfinished release */
	bool made;        /* an undo removes the device */
};

/* Work locks that are held after apply_end(). */
struct work_locks {
	struct applied *list;
	size_t n;
};

/* Releases the lock of `id`; NULL: all locks. */
void work_locks_end(struct work_locks *locks, const char *id);

struct apply {
	struct store *store;
	const struct policy *policy;
	const struct request *request;
	struct applied *done;    /* one for each vGPU of the request */
	int lock;                /* the lock of the current step's pGPU; negative: not held */
	struct work_locks *work; /* receives the work locks from apply_end(); NULL: each lock ends with its step */
	const char *op;          /* for the log */
	int64_t begun_ms;
	bool patient;       /* wait for a busy pGPU, because no other pGPU has capacity */
	int64_t wait_by_ms; /* when all waits for locks and open devices end; a creation may still begin then */
};

/* Begins a run, which may wait while apply_has_time(). Call apply_end() after every run. */
void apply_start(struct apply *apply, struct store *store, const struct policy *policy, const struct request *request,
		 const char *op);
/*
 * Moves the work locks of this run to apply->work, after releasing those of an earlier run there. If apply->work is
 * NULL, releases the locks of this run.
 */
void apply_end(struct apply *apply);

/*
 * Is there time left to wait for other processes? lock_timeout counts from the last change of another domain's lease,
 * so that starts in a moving queue are not refused. The whole wait takes at most four times lock_timeout.
 */
bool apply_has_time(struct apply *apply);

/* Takes the store's lock, for which it waits while apply_has_time(). -ETIMEDOUT: the error names its holder. */
int apply_lock(struct apply *apply, struct err *err);

/*
 * Writes the leases of all steps: `creating` for a new device or an unfinished creation, else `active`. Needs the
 * store's lock. Returns:
 *   0: all are written
 *   -EAGAIN: another process works on one of the vGPUs; nothing is written
 *   other: the state cannot be read or written; some leases may be written
 */
int apply_lease(struct apply *apply, const struct step *steps, size_t n, struct err *err);

/*
 * Reserves the vGPUs of an arriving domain for `reserve_ttl`. If the domain already has a vGPU here, delays its release
 * by that time. Needs the store's lock. -EAGAIN: another process works on a vGPU. An error can leave reservations.
 */
int apply_reserve(struct apply *apply, const struct step *steps, size_t n, struct err *err);

/*
 * Carries out step `i`. Writes `params` to vgpu_params ("": none). After a failure, removes the device that the step
 * created, and drops the leases of this and all later steps, unless a driver hangs. Returns:
 *   0: the device is complete and its lease active
 *   -EAGAIN: the host is not as the plan assumed; plan again
 *   -EINPROGRESS: the pGPU is busy; try other pGPUs first
 *   -ETIMEDOUT: a driver hangs, the device cannot be removed again, or the store's lock is held; give up
 *   -ECANCELED: no time is left
 *   -ESTALE: the domain was released or started again during the step
 *   other: the step failed; try another candidate if it was to create the device
 */
int apply_step(struct apply *apply, const struct step *steps, size_t n, size_t i, const char *params, struct err *err);

/*
 * For a step whose lease cannot be written: waits until the device is complete, no process works on it, and a kept
 * device is closed. -EAGAIN: it does not exist; other: it is not usable in time.
 */
int apply_present(struct apply *apply, const struct step *step, struct err *err);

/* Releases, in reverse order, what this run has leased. Only logs errors. */
void apply_undo(struct apply *apply);
