/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * May this device be removed to make capacity, or to clean up? The conditions, each with the sentence that people read.
 *
 * An orphan is a device with a type that was made for a guest (history.h), is not open, in no lease, in no domain's XML
 * on disk, not started by mdevctl, and idle for reclaim_grace since its last sign of use: its creation, an open file, a
 * domain that names it, the end of a lease. What nobody made for a guest is a pool: it stays, with its definitions,
 * unless it is asked for (`unused`). What Nova has left goes though mdevctl starts it: Nova defines all that it
 * creates, to be started at boot. One of ours may go when its domain no longer runs, nobody has it open, and nobody is
 * at work on it. What was found out before a lease was written says nothing about it.
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
	const struct config *config; /* NULL: nothing foreign may go */
	const struct inventory *inv; /* that the devices are of */
	const struct vfio_users *users;
	const struct libvirt_files *disk;
	const char *asking; /* the domain that a VF is requested for: that it names the VF protects nobody; NULL none */
	bool note;          /* write down since when a device has been seen free */
	bool unused;        /* what was not made for a guest may go, too */
	int64_t looked_ms;  /* a lease that is not older is not judged by what is known here */
	bool (*runs)(const void *arg, const char *domain); /* who runs, as far as libvirt said; NULL: not asked */
	const void *arg;
};

/*
 * May this foreign device go? `why` says why it goes or stays. *due_ms (NULL: not asked): when reclaim_grace is over,
 * CLOCK_MONOTONIC, if nothing else keeps it; RECLAIM_KEPT: it stays as it was not made for a guest, and for no other
 * reason but, perhaps, its grace; else 0.
 */
enum { RECLAIM_KEPT = -1 };
bool reclaim_is_orphan(const struct reclaim_check *check, const struct inv_device *device, char why[REASON_SIZE],
		       int64_t *due_ms);

/*
 * A definition of Nova's without a device (reclaim_is_novas()): may it go? Nova counts it as a device, and
 * does not start where the pGPU has no capacity for it. One that a domain names is kept: a start of the domain makes
 * its device. So is one of a moment ago, whatever the grace: its device is being made.
 */
bool reclaim_is_orphan_definition(const struct reclaim_check *check, const struct definition *definition,
				  char why[REASON_SIZE], int64_t *due_ms);

/* Is this foreign device, or definition of one, Nova's (model/owner.h)? No domain says so: its parent does. */
bool reclaim_is_novas(const struct reclaim_check *check, const struct vgpu_ref *vgpu);

/* Does a domain's XML name it, or can that not be told? `why` says so. */
bool reclaim_is_named(const struct reclaim_check *check, const char *id, char why[REASON_SIZE]);

/*
 * May this lease be released without its domain asking? True also for a reservation that has expired. `exists`: its
 * device is there. `why` says why it goes or stays; *due_ms, if it may go once it is older, and nothing changes, when;
 * else it is 0. NULL: not asked.
 */
bool reclaim_is_stale(const struct reclaim_check *check, const struct lease *lease, enum presence exists,
		      char why[REASON_SIZE], int64_t *due_ms);

/* Is somebody at work on it: its writer lives, or the pGPU's lock is held? */
bool reclaim_at_work(const struct store *store, const struct lease *lease);
