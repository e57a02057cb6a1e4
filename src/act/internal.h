/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Shared by the files of src/act.
 *
 * apply.c and apply_create.c carry out the steps of a plan: first they write the leases, then sysfs; they undo both on
 * failure. Each step holds its vGPU's work lock at least until its lease is `active`. A step that creates also holds
 * its pGPU's lock. The store's lock is held only while leases are written.
 */
#pragma once

#include "act/kernel_write.h"
#include "act/lifecycle.h"

static inline int64_t sooner(int64_t a_ms, int64_t b_ms)
{
	return a_ms < b_ms ? a_ms : b_ms;
}

/* What one run has done for one vGPU of the request. */
struct applied {
	struct lease now;    /* as this run wrote it; since_ms 0: not written yet; empty vgpu.id: nothing was done */
	int64_t reserved_ms; /* deadline of this domain's reservation that `now` replaced; 0: none */
	int work;            /* the vGPU's work lock; -1: not held */
	bool kept;           /* the domain had the device before: an undo leaves the lease */
	bool released;       /* the device is from an unfinished release */
	bool made;           /* an undo removes the device */
};

struct apply {
	struct store *store;
	const struct policy *policy;
	const struct request *request;
	struct applied *done;    /* one for each vGPU of the request */
	int lock;                /* the lock of the current step's pGPU; negative: not held */
	struct work_locks *work; /* as in struct lifecycle */
	const char *op;          /* for the log */
	int64_t begun_ms;
	bool patient;       /* wait for a busy pGPU, because no other pGPU has capacity */
	int64_t wait_by_ms; /* when all waits for locks and open devices end; a creation may still begin then */
};

/* Call apply_end() after every run. */
void apply_start(struct apply *apply, struct store *store, const struct policy *policy, const struct request *request,
		 const char *op);

/* Moves the work locks of this run to apply->work, in place of those of an earlier run. NULL: releases them. */
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
 * created, and drops the leases of this and all later steps but what was reserved, unless a driver hangs. Returns:
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

/*
 * apply_create.c: creates the step's vGPU, and sets done->made once it exists; or waits until an existing one is
 * complete and, if the domain keeps it, closed. Sets the parameters, except of a finished vGPU that the domain keeps.
 * Returns 0, or an error of apply_step().
 */
int create_ensure(const struct apply *apply, const struct step *step, struct applied *done, const char *params,
		  struct err *err);

/* release.c: sets `releasing`, and origin `created` if the release must remove the device, else `adopted`. */
void release_mark_lease(const struct store *store, struct lease *lease);

/*
 * lifecycle_special.c: may the domain start without leases? 0: yes, its vGPUs all exist; -ENOENT: one is missing;
 * other: it is unknown whether one exists. `why`: why nothing can be leased, for `err`; `about`: the error's kind.
 */
int unleased_pass(const struct lifecycle *lifecycle, const char *why, enum err_about about, struct err *err);

/*
 * May a start that failed with `r` and `err` continue without leases? 0: the state is full or read-only, and no step of
 * the `plan` needs its lease (NULL: no plan was made, and unleased_pass() decides). Negative: no.
 */
int unleased_check(const struct lifecycle *lifecycle, const struct plan *plan, const struct leases *leases, int r,
		   struct err *err);

/* If unleased_check() permits, undoes the leases, and waits until the devices are complete. Negative: refused. */
int unleased_start(struct apply *apply, const struct lifecycle *lifecycle, const struct plan *plan,
		   const struct leases *leases, int r, struct err *err);

/* adopt.c: finds what a domain can have as a vGPU: a device with a type, or a plain VF of the pool. */
bool adopt_find(struct inv_device *device, const struct inventory *inv, const char *id);

/*
 * Leases a device of adopt_find() to the domain of `request`, under the store's lock. `there`: its lease; NULL: none.
 * Returns:
 *   1: a lease was written
 *   0: the domain already has an active lease
 *   -EEXIST: the device is leased to another domain
 *   other: the lease cannot be written
 */
int adopt_device(const struct world *world, const char *op, const struct request *request,
		 const struct inv_device *device, const struct lease *there, struct err *err);
