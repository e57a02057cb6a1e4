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
 * is complete and, if the domain keeps it, closed. Sets its parameters. Returns 0, or an error of apply_step().
 */
int create_ensure(const struct apply *apply, const struct step *step, struct applied *done, const char *params,
		  struct err *err);

/* release_sweep.c: sets `releasing`, and origin `created` if the release must remove the device, else `adopted`. */
void release_mark_lease(const struct store *store, struct lease *lease);

/* Drops a reservation; changes any other lease with release_mark_lease(), and writes it. Needs the store's lock. */
int release_give_up(const struct store *store, struct lease *lease, struct err *err);

/*
 * lifecycle_special.c: may the domain start without leases? `why`: why nothing can be leased. Returns:
 *   0: yes, all its mdevs exist
 *   -ENOENT: an mdev does not exist, or the XML has a placeholder; the error has `why` and the kind `about`
 *   other: unknown whether an mdev exists
 */
int unleased_pass(const struct lifecycle *lifecycle, const char *why, enum err_about about, struct err *err);

/*
 * May a start that failed with `r` and `err` continue without leases? 0: yes, the state is full or read-only, and no
 * step needs its lease. Negative: no, `err` has the reason. `plan`: the plan whose leases could not be written; NULL:
 * no plan was made, and unleased_pass() decides.
 */
int unleased_check(const struct lifecycle *lifecycle, const struct plan *plan, const struct leases *leases, int r,
		   struct err *err);

/*
 * Calls unleased_check(). If the start may continue, undoes the leases, waits until the planned devices are complete,
 * and logs a warning. Negative: the domain is refused.
 */
int unleased_start(struct apply *apply, const struct lifecycle *lifecycle, const struct plan *plan,
		   const struct leases *leases, int r, struct err *err);

/* adopt.c: finds a device that a domain can have as a vGPU: a device with a type, or a plain VF of the pool. */
bool adopt_find(struct inv_device *device, const struct inventory *inv, const char *id);

/* What adopt_device() needs. The store is locked. */
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
 *   -EEXIST: the device is leased to another domain
 *   other: the lease cannot be written
 */
int adopt_device(const struct adoption *adoption, const struct inv_device *device, const struct lease *there,
		 struct err *err);
