/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Shared by the files of src/act: creating the vGPUs of a plan, starts without a lease, and adoption. */
#pragma once

#include "act/apply.h"
#include "act/kernel_write.h"
#include "act/lifecycle.h"

static inline int64_t sooner(int64_t a_ms, int64_t b_ms)
{
	return a_ms < b_ms ? a_ms : b_ms;
}

/*
 * apply_create.c: creates the step's vGPU, and sets done->made once the device exists; or waits until an existing vGPU
 * is closed and complete. Returns the results of apply_step().
 */
int create_ensure(const struct apply *apply, const struct step *step, struct applied *done, const char *params,
		  struct err *err);

/* release_sweep.c: makes the lease `releasing`. Its origin becomes `created` if the release must remove the device. */
void release_mark_lease(const struct store *store, struct lease *lease);

/* Writes the lease after release_mark_lease(), or drops it if it is a reservation. Needs the store's lock. */
int release_give_up(const struct store *store, struct lease *lease, struct err *err);

/*
 * lifecycle_special.c: returns 0 if all mdevs of the domain exist, so that the domain may start without leases. Else
 * refuses with `why`, the reason why nothing can be leased, and with the kind `about`.
 */
int unleased_pass(const struct lifecycle *lifecycle, const char *why, enum err_about about, struct err *err);

/*
 * Returns 0 if a start that failed with `r` may continue without leases: the state cannot be written, and no step needs
 * its lease. `plan`: the plan whose leases could not be written; NULL: no plan was made.
 */
int unleased_check(const struct lifecycle *lifecycle, const struct plan *plan, const struct leases *leases, int r,
		   struct err *err);

/*
 * Calls unleased_check(). If that returns 0, undoes the leases, waits until the devices are complete, and logs a
 * warning.
 */
int unleased_start(struct apply *apply, const struct lifecycle *lifecycle, const struct plan *plan,
		   const struct leases *leases, int r, struct err *err);

/* adopt.c: finds a device that a domain can have as a vGPU: a device with a type, or a plain VF of the pool. */
bool adopt_find(struct inv_device *device, const struct inventory *inv, const char *id);

/* The caller holds the store's lock. */
struct adoption {
	const struct store *store;
	const struct inventory *inv;
	const struct request *request; /* of the domain that receives the device */
	const char *op;                /* for the log */
};

/*
 * Leases a device of adopt_find() to the domain. `there`: the present lease of the device; NULL: none. Without a lease,
 * the history of the ID decides whether we created the device. Returns:
 *   1: a lease was written
 *   0: the domain already had an active lease of the device
 *   -EEXIST: another domain has the device
 *   other: an error
 */
int adopt_device(const struct adoption *adoption, const struct inv_device *device, const struct lease *there,
		 struct err *err);
