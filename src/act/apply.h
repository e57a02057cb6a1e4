/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Carries out the steps of a plan: first writes the leases, then sysfs; undoes both on failure.
 *
 * Each step holds its vGPU's work lock at least until its lease is `active`. A step that creates also holds its pGPU's
 * lock, and reads the kernel's count of free instances again, because that count decides. The store's lock is held only
 * while leases are written. After a step has failed, the next plan skips its candidate.
 */
#pragma once

#include "config/config.h"
#include "base/err.h"
#include "decide/plan.h"
#include "state/store.h"

/* What one run has done for one vGPU of the request. */
struct applied {
	struct lease now; /* the lease that was written; since_ms 0: not written yet; no ID: nothing was done */
	int work;         /* the vGPU's work lock; -1: not held */
	bool kept;        /* the domain had the device before the run: an undo leaves the lease */
	bool made;        /* the run created the device: an undo removes the device */
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
	const char *op;          /* for the log: "prepare" */
	int64_t begun_ms;
	bool patient;       /* wait for a busy pGPU, because no other pGPU has capacity */
	int64_t wait_by_ms; /* when all waits for locks and open devices end; a creation may still begin then */
};

/* Begins a run. Its waits end at `wait_by_ms`, at first lock_timeout from now. Call apply_end() after every run. */
void apply_start(struct apply *apply, struct store *store, const struct policy *policy, const struct request *request,
		 const char *op);
/* Ends the work locks in apply->work, and replaces them with those of this run; NULL: ends those of this run. */
void apply_end(struct apply *apply);

/*
 * Is there time left to wait for other processes? Moves `wait_by_ms`: lock_timeout counts from the last change of
 * another domain's lease, so that starts in a moving queue are not refused. The whole wait takes at most four times
 * lock_timeout.
 */
bool apply_has_time(struct apply *apply);

/* Takes the store's lock. Waits while apply_has_time() is true. -ETIMEDOUT: still held; the error names the holder. */
int apply_lock(struct apply *apply, struct err *err);

/*
 * Writes the leases of all steps: `creating` for a new device or an unfinished creation, `active` for any other device.
 * The caller holds the store's lock. Returns:
 *   0: all leases are written
 *   -EAGAIN: another process holds the work lock of one of the vGPUs; nothing is written
 *   other: the state cannot be read or written; some leases may be written
 */
int apply_lease(struct apply *apply, const struct step *steps, size_t n, struct err *err);

/*
 * Reserves the vGPUs of all steps for `reserve_ttl`, for a domain that migrates to this host or is restored. Delays the
 * release of the domain's own vGPU for `reserve_ttl`. The caller holds the store's lock. Some vGPUs may be reserved
 * after an error. -EAGAIN: another process works on the domain's own vGPU, or may have created it.
 */
int apply_reserve(struct apply *apply, const struct step *steps, size_t n, struct err *err);

/*
 * Carries out step `i`. Writes `params` to vgpu_params ("": none). After a failure, removes the device that the step
 * created, and drops the leases of this and all later steps, unless a driver hangs. Returns:
 *   0: the device is complete and its lease active
 *   -EAGAIN: the host is not as the plan assumed; plan again
 *   -EINPROGRESS: the pGPU is busy with another vGPU; try other pGPUs first
 *   -ETIMEDOUT: a creation hangs, its device cannot be removed, an existing device is not complete in time, or the
 *   store's lock is held; give up (a later pass or start releases the lease)
 *   -ECANCELED: no time is left
 *   -ESTALE: the domain was released or started again during the step
 *   other: the step failed; try another candidate if it was to create the device
 */
int apply_step(struct apply *apply, const struct step *steps, size_t n, size_t i, const char *params, struct err *err);

/*
 * For a step whose lease cannot be written: waits until the device is complete and no process is at work on it, and
 * until a kept device is closed. Changes nothing. Returns:
 *   0: the device is complete
 *   -EAGAIN: the device does not exist
 *   -EBUSY: a process has the device open or works on it, or the driver does not answer
 *   other: the device is not complete, as kernel_wait_complete()
 */
int apply_present(struct apply *apply, const struct step *step, struct err *err);

/* Releases, in reverse order, what this run has leased. Only logs errors. */
void apply_undo(struct apply *apply);
