/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Leases a device that a running domain has: restores a lost lease, or records a device that others attached. */
#pragma once

#include <stdbool.h>

#include "domain/domxml.h"
#include "base/err.h"
#include "host/inventory.h"
#include "state/lease_store.h"
#include "state/store.h"

/* Finds the device if a domain can have it as a vGPU: it exists with a type, or is a plain VF of the pool. */
bool adopt_find(struct inv_device *device, const struct inventory *inv, const char *id);

/* The receiving domain and the operation. The caller holds the store's lock. */
struct adoption {
	const struct store *store;
	const struct inventory *inv;
	const struct request *request; /* the domain's */
	const char *op;                /* for the log */
};

/*
 * Leases a device of adopt_find() to the domain. `there`: the device's lease, read under the lock; NULL: none. If the
 * lease was lost, the history of the ID says whether we created the device.
 * Returns:
 *   1: a lease was written
 *   0: the domain already had an active lease of it
 *   -EEXIST: another domain has it
 *   other: an error
 */
int adopt_device(const struct adoption *adoption, const struct inv_device *device, const struct lease *there,
		 struct err *err);
