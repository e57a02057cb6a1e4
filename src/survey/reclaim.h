/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * May this device be removed to make capacity or to clean up? Each condition comes with the sentence that people read.
 *
 * An orphan is a device with a type that was made for a guest (history.h), is not open, is in no lease and in no
 * domain's XML on disk, is not started by mdevctl, and has been idle for reclaim_grace since its last sign of use: its
 * creation, an open file, a domain that names it, or the end of a lease. A device that was not made for a guest belongs
 * to a pool: it is kept, with its definition, unless `unused` is set. A device of Nova may go although mdevctl starts
 * it, because Nova defines all its devices to start at boot. A device of ours may go when its domain no longer runs,
 * nobody has it open, and nobody is working on it. Facts that are older than a lease say nothing about that lease.
 */
#pragma once

#include <stdbool.h>

#include "config/config.h"
#include "host/vfio_users.h"
#include "host/inventory.h"
#include "state/lease_store.h"
#include "host/libvirt_files.h"
#include "host/mdevctl_files.h"

struct reclaim_check {
	const struct host *host;
	const struct store *store;
	const struct config *config; /* NULL: no foreign device may go */
	const struct inventory *inv; /* the inventory of the devices */
	const struct vfio_users *users;
	const struct libvirt_files *disk;
	const char *asking; /* the domain that requests a VF, whose own XML does not protect that VF; NULL: none */
	bool note;          /* record since when a device has been seen free */
	bool unused;        /* devices that were not made for a guest may go too */
	int64_t looked_ms;  /* CLOCK_MONOTONIC ms of these facts: a newer lease is not judged by them */
	bool (*runs)(const void *arg, const char *domain); /* does libvirt say that it runs? NULL: not asked */
	const void *arg;
};

/*
 * May this foreign device go? `why` says why it goes or stays. *due_ms (NULL: not needed): when reclaim_grace ends
 * (CLOCK_MONOTONIC ms), if nothing else keeps the device; RECLAIM_KEPT: it stays because it was not made for a guest,
 * and at most its grace keeps it as well; else 0.
 */
enum { RECLAIM_KEPT = -1 };
bool reclaim_is_orphan(const struct reclaim_check *check, const struct inv_device *device, char why[REASON_SIZE],
		       int64_t *due_ms);

/*
 * May Nova's definition of a missing device go (reclaim_is_novas())? Nova counts it as a device, and does not start if
 * the pGPU has no capacity for it. It is kept if a domain names it, because a start creates its device, and for a
 * moment after it was written, because its device is being created.
 */
bool reclaim_is_orphan_definition(const struct reclaim_check *check, const struct definition *definition,
				  char why[REASON_SIZE], int64_t *due_ms);

/* Does this foreign device or definition belong to Nova (model/owner.h)? Its parent decides; no domain says so. */
bool reclaim_is_novas(const struct reclaim_check *check, const struct vgpu_ref *vgpu);

/* Does a domain's XML name it, or is that not known? `why` explains a true answer. */
bool reclaim_is_named(const struct reclaim_check *check, const char *id, char why[REASON_SIZE]);

/*
 * May this lease be released without a call from its domain? Also true for an expired reservation. `exists`: is its
 * device there? `why` says why it goes or stays. *due_ms (NULL: not needed): when it may go if nothing else changes; 0:
 * age is not the reason.
 */
bool reclaim_is_stale(const struct reclaim_check *check, const struct lease *lease, enum presence exists,
		      char why[REASON_SIZE], int64_t *due_ms);

/* Is somebody working on it: does its writer live, or is the pGPU's lock held? */
bool reclaim_at_work(const struct store *store, const struct lease *lease);
