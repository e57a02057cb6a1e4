/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The lease of a device that a running domain has already: restored where it was lost, recorded where somebody else
 * gave the domain the device.
 */
#pragma once

#include <stdbool.h>

#include "domain/domxml.h"
#include "base/err.h"
#include "host/inventory.h"
#include "state/lease_store.h"
#include "state/store.h"

/*
 * The device of this id, if it is a vGPU that a domain can have: one that exists with a type, or a plain VF of the
 * pool.
 */
bool adopt_find(struct inv_device *device, const struct inventory *inv, const char *id);

/* What a domain is given, by whom. The caller holds the store's lock, and has read the leases under it. */
struct adoption {
	const struct store *store;
	const struct inventory *inv;
	const struct leases *leases;
	const struct request *request; /* of the domain */
	const char *op;                /* for the log */
};

/*
 * Makes the device, which has a type, the domain's: 1 where a lease was written, 0 where there was one already, -EEXIST
 * where another domain has it. Where its lease was lost, what is remembered of its id says whether we made it.
 */
int adopt_device(const struct adoption *adoption, const struct inv_device *device, struct err *err);
