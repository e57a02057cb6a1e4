/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Releases vGPUs: removes devices that we created, keeps those that existed before, and drops the lease last.
 *
 * A release marks the lease `releasing`; waits until no process has the device open; gives an NVIDIA driver time to
 * remove the device by itself; checks, under the vGPU's work lock, that the lease is still `releasing` and the device
 * still closed; removes the device; drops the lease. If the process dies, the lease says what is left to do. A domain
 * that starts again can take over its `releasing` lease.
 */
#pragma once

#include "config/config.h"
#include "base/err.h"
#include "sys/sys.h"
#include "look/kernel.h"
#include "state/store.h"

/*
 * Does the end of this lease remove the device? No if another manager owns the device (lease.h) or the device is older.
 */
bool release_removes(const struct store *store, const struct lease *lease);

/*
 * Marks `releasing` all leases that a domain had at `asked_ms` (CLOCK_MONOTONIC), and drops its reservations. A younger
 * lease belongs to a later start. Waits at most `wait_ms` for the store's lock. After an error with one lease, marks
 * the other leases. *marked: the leases to release; the caller frees them, also after an error.
 */
int release_mark(struct store *store, const char *domain, int64_t asked_ms, int wait_ms, struct leases *marked,
		 struct err *err);

/*
 * Finishes the release of a `releasing` lease by `deadline_ms` (CLOCK_MONOTONIC). The search of all processes may take
 * until `look_by_ms`, so that repeated short calls can complete it. The lease is dropped only if the result is 0:
 *   0: released, or taken over by its domain
 *   -EBUSY: still open
 *   -EAGAIN: not in time (lock, driver), or unknown whether the device is open
 *   other: the kernel's error
 */
int release_finish(struct store *store, const struct policy *policy, const char *id, int64_t deadline_ms,
		   int64_t look_by_ms, struct err *err);

/* Several releases, finished together. `told` gets each success, and at the last look each failure with its error. */
struct sweep {
	struct store *store;
	const struct policy *policy;
	struct leases leases;
	void (*told)(void *arg, const struct lease *lease, int r, const struct err *err);
	void *arg;
};

/*
 * Finishes the releases by `deadline_ms`, in turns, so that a slow release delays no other. Then, unless `last_look_ms`
 * is 0, tries all unfinished releases once more within that time.
 */
void release_sweep(const struct sweep *sweep, int64_t deadline_ms, int last_look_ms);

enum release_part {
	RELEASE_DEVICE,          /* the device, after its mdevctl definition */
	RELEASE_ITS_DEFINITION,  /* the definition of a device that stays */
	RELEASE_LONE_DEFINITION, /* the parent's definition without a device; -EAGAIN: the device may exist */
};

/* Removes this part of an orphan, under its work lock, by `deadline_ms`. -EBUSY: the vGPU is leased or open. */
int release_orphan(struct store *store, const struct policy *policy, const struct vgpu_ref *vgpu,
		   enum release_part part, int64_t deadline_ms, struct err *err);

/* release_timeout plus driver_cleanup from now: the deadline of a release that begins now. */
int64_t release_by(const struct policy *policy);

/*
 * Waits until no process has the device open. Returns 0, or:
 *   -EBUSY: still open at `deadline_ms`; the cause in the text names the process
 *   -EAGAIN: still unknown at `look_by_ms`
 */
int release_wait_closed(const struct host *host, const char *id, int64_t deadline_ms, int64_t look_by_ms,
			struct err *err);

/*
 * Takes one lease from its domain and releases it by `deadline_ms`. Returns:
 *   1: released
 *   0: the lease changed meanwhile
 *   negative: not released (-EBUSY, -EAGAIN: a process has the device open, or may have); the lease is as before, or
 *     `releasing` if the error came after release_claim()
 */
int release_now(struct store *store, const struct policy *policy, const struct lease *lease, int64_t deadline_ms,
		struct err *err);

/*
 * Marks a lease `releasing`, or drops it if it is a reservation, under the store's lock. Returns 1, or 0 if the lease
 * has changed (lease_same()).
 */
int release_claim(struct store *store, const struct lease *lease, int64_t deadline_ms, struct err *err);
