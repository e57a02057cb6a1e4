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

/* What this run has done for one vGPU of the request. */
struct applied {
	struct lease now; /* the lease as this run wrote it; since_ms 0: not written yet; no ID: nothing was done */
	int work;         /* the vGPU's work lock; -1: not held */
	bool kept;        /* the domain had the device before: an undo leaves its lease */
	bool made;        /* this run created the device: an undo removes it, even if a release would keep it */
};

/* Work locks that outlast the run that took them. */
struct work_locks {
	struct applied *list;
	size_t n;
};

/* Ends the lock of `id`, or (NULL) all locks. */
void work_locks_end(struct work_locks *locks, const char *id);

struct apply {
	struct store *store;
	const struct policy *policy;
	const struct request *request;
	struct applied *done;    /* one for each of the request's vGPUs, for apply_undo() */
	int lock;                /* the lock of the current step's pGPU; negative: not held */
	struct work_locks *work; /* apply_end() replaces it with this run's work locks; NULL: each ends with its step */
	const char *op;          /* for the log: "prepare" */
	int64_t begun_ms;
	bool patient;       /* no other pGPU has capacity, so a busy one is waited for */
	int64_t wait_by_ms; /* the end of all waits for locks and open devices; the last creation may begin then */
};

/* Starts the policy's times: lock_timeout for all waits together, followed by create_timeout. */
void apply_start(struct apply *apply, struct store *store, const struct policy *policy, const struct request *request,
		 const char *op);
void apply_end(struct apply *apply);

/*
 * Is there time left to wait for other processes? After lock_timeout, the time starts again at the last change of
 * another domain's lease, so a queue that moves refuses no domain. The whole wait lasts at most four times
 * lock_timeout.
 */
bool apply_has_time(struct apply *apply);

/* Takes the store's lock. Waits while apply_has_time() is true. */
int apply_lock(struct apply *apply, struct err *err);

/*
 * Writes the leases of all steps: `creating` for a new device or an unfinished creation, `active` for any other device.
 * The caller holds the store's lock.
 * -EAGAIN: another process holds the work lock of one of the vGPUs; nothing is written.
 */
int apply_lease(struct apply *apply, const struct step *steps, size_t n, struct err *err);

/*
 * Like apply_lease(), for a domain that migrates to this host or is restored: the leases are `reserved` for
 * `reserve_ttl`, and sysfs is not written. A pending release of the domain's own vGPU is put off for that time.
 * -EAGAIN: another process holds the work lock of the domain's own vGPU, or has created this vGPU.
 */
int apply_reserve(struct apply *apply, const struct step *steps, size_t n, struct err *err);

/*
 * Carries out step `i`. Writes `params` to vgpu_params ("": none). A failed step removes what it has created, and drops
 * its lease and those of all later steps, which the next plan leases again. Returns:
 *   0: the device is complete and its lease active
 *   -EAGAIN: the host is not as the plan assumed; plan again
 *   -EINPROGRESS: the pGPU is busy with another vGPU; try the others first
 *   -ETIMEDOUT: the creation hangs, or its device cannot be removed; give up (a later pass or start releases the lease)
 *   -ECANCELED: no time is left
 *   -ESTALE: the domain was released or started again during the step
 *   other: this candidate failed; try the next
 */
int apply_step(struct apply *apply, const struct step *steps, size_t n, size_t i, const char *params, struct err *err);

/*
 * For a step whose lease cannot be written: waits until no process removes the device or has it open, and until the
 * device is complete. Changes nothing. -EAGAIN: the device does not exist.
 */
int apply_present(struct apply *apply, const struct step *step, struct err *err);

/* Releases, in reverse order, what this run has leased. */
void apply_undo(struct apply *apply);
