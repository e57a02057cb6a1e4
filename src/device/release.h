/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Releasing vGPUs: what we created is removed, what was there before is left standing, and the lease is dropped last.
 *
 * Order, for each device: the lease is marked `releasing`; nobody has the device open any more; an NVIDIA driver had
 * its time to remove it by itself; under the pGPU's lock and the removal's own it is still `releasing` and still
 * closed; it is removed and seen gone; the lease is dropped. Whoever dies in between leaves a lease that says what to
 * finish. A domain that starts again takes its `releasing` lease over, and the release notices.
 */
#pragma once

#include "config/config.h"
#include "base/err.h"
#include "sys/sys.h"
#include "device/kernel.h"
#include "state/lease_store.h"
#include "state/store.h"

struct release_ids {
	struct vgpu_ref *list;
	size_t n;
};

/* Does the end of this lease remove the device? Not if it is another manager's (owner.h), or was there before. */
bool release_removes(const struct store *store, const struct lease *lease);

/*
 * Marks all leases of a domain `releasing` that it had at `asked_ms` (CLOCK_MONOTONIC), its reservations are dropped at
 * once; what is younger is of a start that came after. Takes the store's lock, waiting at most `wait_ms`. *ids: the
 * vGPUs that are to be released; the caller frees the list, also after an error.
 */
int release_mark(struct store *store, const char *domain, int64_t asked_ms, int wait_ms, struct release_ids *ids,
		 struct err *err);

/*
 * Finishes releasing one lease that is `releasing`, by `deadline_ms` (CLOCK_MONOTONIC). 0: done, or taken over by
 * its domain meanwhile; -EBUSY: it is still open; -EAGAIN: not within the time (lock, driver), or it is not known
 * whether it is open; others: the kernel's error. The lease stays where it is not 0.
 */
int release_finish(struct store *store, const struct policy *policy, const char *id, int64_t deadline_ms,
		   struct err *err);

/*
 * The same for who comes again and again: waits for nothing beyond `deadline_ms`, but for a look at all processes until
 * `look_by_ms`, as one that is cut short each time never ends.
 */
int release_turn(struct store *store, const struct policy *policy, const char *id, int64_t deadline_ms,
		 int64_t look_by_ms, struct err *err);

/*
 * Where nothing can be written down (a read-only /run): removes what we made for a lease that its domain gave up at
 * `asked_ms`, if the lease still is as it was, by `deadline_ms`. The lease stays, and is void without its device.
 */
int release_unmarked(struct store *store, const struct policy *policy, const struct lease *lease, int64_t asked_ms,
		     int64_t deadline_ms, struct err *err);

/* What goes of an orphan. */
enum release_part {
	RELEASE_DEVICE,          /* the device, and its mdevctl definition before it */
	RELEASE_ITS_DEFINITION,  /* the definition of a device that stays */
	RELEASE_LONE_DEFINITION, /* the parent's definition, without a device; -EAGAIN: it has one, or cannot be told */
};

/*
 * Removes this of a foreign device (an orphan; conditions checked by the caller), under the pGPU's lock, if it is still
 * in no lease and not open, by `deadline_ms`. -EBUSY: it is.
 */
int release_orphan(struct store *store, const struct policy *policy, const struct vgpu_ref *vgpu,
		   enum release_part part, int64_t deadline_ms, struct err *err);

/* Until when, from now, a lock is waited for where no operation as a whole has a deadline. */
int64_t release_lock_by(const struct policy *policy);

/* Until when, from now, a release waits for its guest and its driver. */
int64_t release_by(const struct policy *policy);

/* Is a lease that is being released still within that time? */
bool release_has_time(const struct policy *policy, const struct lease *lease);

/*
 * Removes a device, under the pGPU's lock, which the caller holds, if nobody has it open. -EBUSY: somebody has;
 * -ETIMEDOUT: the kernel is still at it after `wait_ms`, and -EAGAIN as long as it is; meanwhile store_removes() tells.
 */
int release_remove(const struct store *store, const struct vgpu_ref *vgpu, int wait_ms, struct err *err);

/*
 * Waits until nobody has the device open. -EBUSY: somebody still has at `deadline_ms`, whom the text's cause names;
 * -EAGAIN: not known by `look_by_ms`.
 */
int release_wait_closed(const struct host *host, const char *id, int64_t deadline_ms, int64_t look_by_ms,
			struct err *err);

/*
 * Drops one reservation, or a lease whose device is gone, if it still is as it was (lease_same()): 1, else 0. Takes the
 * store's lock.
 */
int release_drop(struct store *store, const struct policy *policy, const struct lease *lease, struct err *err);

/*
 * Takes one lease from its domain and releases it: within `release_timeout` and the driver's time. 1: done; 0: it
 * changed hands meanwhile. -EBUSY: somebody has the device open, and the lease is as it was, unless its domain was
 * released meanwhile; others: the lease is `releasing`, and can be released later.
 */
int release_now(struct store *store, const struct policy *policy, const struct lease *lease, struct err *err);

/*
 * Finishes several releases, in short turns: one that hangs, or stays open, delays no other. `turn` is release_turn()
 * of the i-th, with its deadlines, and returns what that does: 0 is done with; -EBUSY and -EAGAIN are tried again
 * until `end_ms`; in the end each that is left, for whatever reason, has one more, the `last`.
 */
typedef int release_turn_fn(void *arg, size_t i, int64_t deadline_ms, int64_t look_by_ms, bool last);
void release_in_turns(size_t n, int64_t end_ms, release_turn_fn *turn, void *arg);

/*
 * Somebody opened the device between a look and release_claim(): the lease is its domain's again, as it `was`, unless
 * somebody else has marked it since.
 */
void release_put_back(struct store *store, const struct policy *policy, const struct lease *was);

/* Marks one lease `releasing`, if it still is as it was (lease_same()): 1, else 0. Takes the store's lock by then. */
int release_claim(struct store *store, const struct lease *lease, int64_t deadline_ms, struct err *err);
