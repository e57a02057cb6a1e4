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
