/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Releases vGPUs:
 *   1. mark the lease `releasing`
 *   2. wait until no process has the device open, and give NVIDIA's driver time to remove the device
 *   3. under the vGPU's work lock, check again that the lease is `releasing` and the device closed
 *   4. remove the device if the lease's origin is `created`
 *   5. drop the lease
 * After a crash, any process can continue from the lease. A domain that starts again can take over its lease.
 */
#pragma once

#include "config/config.h"
#include "base/err.h"
#include "look/inventory.h"
#include "state/store.h"

/* Does the release of this lease remove the device? False if the device is older, or is mdevctl's or Nova's. */
bool release_removes(const struct store *store, const struct lease *lease);

/*
 * Marks `releasing` all leases that a domain had at `asked_ms` (CLOCK_MONOTONIC), and drops its reservations. Younger
 * leases belong to a later start. *marked gets the leases to release, even after an error; the caller frees it.
 */
int release_mark(struct store *store, const char *domain, int64_t asked_ms, int wait_ms, struct leases *marked,
		 struct err *err);

/*
 * Finishes the release of a `releasing` lease by `deadline_ms` (CLOCK_MONOTONIC). The search of all processes may last
 * until `look_by_ms`. Returns:
 *   0: released, by this or another process
 *   RELEASE_TAKEN: the lease is not `releasing` any more, because its domain has taken it over
 *   -EBUSY: a process has the device open, or the driver keeps the device
 *   -EAGAIN: no time is left, the lease is kept for its arriving domain or has changed, or it is unknown whether the
 *   device is open
 *   other: an error of the driver or the state
 */
enum { RELEASE_TAKEN = 2 };
int release_finish(struct store *store, const struct policy *policy, const char *id, int64_t deadline_ms,
		   int64_t look_by_ms, struct err *err);

/* Several releases, finished together. `told` gets each result of release_finish(), a failure only at the last look. */
struct sweep {
	struct store *store;
	const struct policy *policy;
	struct leases leases;
	void (*told)(void *arg, const struct lease *lease, int r, const struct err *err);
	void *arg;
};

/*
 * Finishes the releases by `deadline_ms`, in turns, so that a slow one delays no other. Then tries the rest once more
 * within `last_look_ms` (0: does not).
 */
void release_sweep(const struct sweep *sweep, int64_t deadline_ms, int last_look_ms);

enum release_part {
	RELEASE_DEVICE,          /* the device, after its mdevctl definition */
	RELEASE_ITS_DEFINITION,  /* the definition of a device that stays */
	RELEASE_LONE_DEFINITION, /* a definition without a device; -EAGAIN: the device may exist */
};

/*
 * Removes a part of an orphan by `deadline_ms`. -EBUSY: the vGPU is leased or open, or the driver keeps it. -EAGAIN:
 * NVIDIA's driver still has its time to remove the device.
 */
int release_orphan(struct store *store, const struct policy *policy, const struct vgpu_ref *vgpu,
		   enum release_part part, int64_t deadline_ms, struct err *err);

/* -EAGAIN: this `releasing` lease is kept for its domain, which is arriving; else 0. */
int release_kept(const struct lease *lease, struct err *err);

/* Is the closed device of a `releasing` lease still left to NVIDIA's driver, because driver_cleanup is not over? */
bool release_is_drivers(const struct store *store, const struct policy *policy, const struct lease *lease);

/*
 * Waits until the device is closed, and until NVIDIA's driver has removed it or driver_cleanup is over, which begins at
 * the first look that saw the device closed. Returns 0 at once for other drivers. Errors as release_wait_closed();
 * -EAGAIN also if the driver still has time at `deadline_ms`.
 */
int release_let_driver(const struct store *store, const struct policy *policy, const struct vgpu_ref *vgpu,
		       int64_t deadline_ms, int64_t look_by_ms, struct err *err);

/*
 * Waits until no process has the device open. Returns:
 *   0: closed
 *   -EBUSY: open at `deadline_ms`, or at the last complete search; the cause in the text names the process
 *   -EAGAIN: no search was complete, so unknown whether the device is open
 */
int release_wait_closed(const struct store *store, const char *id, int64_t deadline_ms, int64_t look_by_ms,
			struct err *err);

/*
 * Takes this lease from its domain and releases it, as release_finish(), at the latest by `end_ms`. RELEASE_TAKEN also
 * if the lease is gone.
 */
int release_now(struct store *store, const struct policy *policy, const struct lease *lease, int64_t end_ms,
		struct err *err);

/* Marks this lease `releasing`, or drops a reservation. RELEASE_TAKEN: it has changed or is gone. */
int release_claim(struct store *store, const struct lease *lease, int64_t deadline_ms, struct err *err);
