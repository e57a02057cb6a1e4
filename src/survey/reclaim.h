/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Decides whether a device may be removed, to make capacity or to clean up, and gives the reason in words.
 *
 * An orphan is a device that was made for a guest (history.h) and has a type. It is not open, no lease and no domain's
 * XML on disk names it, mdevctl does not start it, and it has been idle for reclaim_grace since its last sign of use:
 * its creation, an open file, a domain that names it, or the end of a lease. A device that was not made for a guest
 * belongs to a pool: it and its definition are kept, unless `unused` is set. A device of Nova may go even if mdevctl
 * starts it, because Nova defines all its devices to start at boot. A leased device may go once its domain no longer
 * runs, no process has it open, and no process works on it. A lease that is newer than the facts is not judged.
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
	const char *asking; /* the domain that requests a VF: its own XML does not protect the VF; NULL: none */
	bool note;          /* record when a device was first seen free */
	bool unused;        /* devices that were not made for a guest may go too */
	int64_t looked_ms;  /* when the facts were read, CLOCK_MONOTONIC ms: newer leases are not judged */
	bool (*runs)(const void *arg, const char *domain); /* does libvirt say it runs? NULL: not asked */
	const void *arg;
};

/*
 * May this foreign device be removed? `why` gives the reason either way. *due_ms (may be NULL) is the end of
 * reclaim_grace (CLOCK_MONOTONIC ms) if only the grace can keep the device; RECLAIM_KEPT if it is kept because it was
 * not made for a guest, and nothing else but the grace can keep it; else 0.
 */
enum { RECLAIM_KEPT = -1 };
bool reclaim_is_orphan(const struct reclaim_check *check, const struct inv_device *device, char why[REASON_SIZE],
		       int64_t *due_ms);

/*
 * May this definition of Nova's (reclaim_is_novas()), which has no device, be removed? Nova counts it as a device, and
 * does not start if the pGPU has no capacity for it. The definition is kept if a domain names it, because a start
 * creates the device, and for a minute after it was written, because Nova may be creating the device.
 */
bool reclaim_is_orphan_definition(const struct reclaim_check *check, const struct definition *definition,
				  char why[REASON_SIZE], int64_t *due_ms);

/* Does Nova own this foreign device or definition (model/owner.h)? Its parent decides, whatever names it. */
bool reclaim_is_novas(const struct reclaim_check *check, const struct vgpu_ref *vgpu);

/* True if a domain's XML names it, or this is not known; `why` says which. */
bool reclaim_is_named(const struct reclaim_check *check, const char *id, char why[REASON_SIZE]);

/*
 * May this lease be released although libvirt has not called for its release? An expired reservation may. `exists`:
 * does its device exist? `why` gives the reason either way. *due_ms (may be NULL): when the lease may be released if
 * nothing else changes; 0: its age is not what keeps it.
 */
bool reclaim_is_stale(const struct reclaim_check *check, const struct lease *lease, enum presence exists,
		      char why[REASON_SIZE], int64_t *due_ms);

/* True if its writer lives, the pGPU's lock is held, or the kernel is removing its device. */
bool reclaim_at_work(const struct store *store, const struct lease *lease);
