/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Shared by the files of this directory: creating the vGPUs of a plan, starts without a lease, and adoption. */
#pragma once

#include "act/apply.h"
#include "act/kernel_write.h"
#include "act/lifecycle.h"

static inline int64_t sooner(int64_t a_ms, int64_t b_ms)
{
	return a_ms < b_ms ? a_ms : b_ms;
}

/*
 * apply_create.c: creates the step's vGPU, and sets done->made once there is a device; or waits until an existing one
 * is closed and complete. Returns as apply_step().
 */
int create_ensure(const struct apply *apply, const struct step *step, struct applied *done, const char *params,
		  struct err *err);

/* release_sweep.c: makes the lease `releasing`. Its origin becomes `created` if the release must remove the device. */
void release_mark_lease(const struct store *store, struct lease *lease);

/* Writes the lease after release_mark_lease(), or drops it if it is a reservation. Needs the store's lock. */
int release_give_up(const struct store *store, struct lease *lease, struct err *err);

/*
 * May the domain start without a lease (lifecycle_special.c)? Returns 0 if all its mdevs exist. Refuses with `why`,
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
