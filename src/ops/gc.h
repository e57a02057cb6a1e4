/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One pass over all that may be released without its domain asking: leases that have expired, are void or only wait
 * for it, leases whose domain no longer runs, orphans, and Nova's definitions of mdevctl without a device.
 *
 * Each lease, each foreign device and each such definition is judged (reclaim.h); what may go, goes (release.h), all
 * of it within one stretch of time: an NVIDIA driver's time to clean up runs for all of them at once.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "config/config.h"
#include "base/err.h"
#include "host/inventory.h"
#include "plan/pool.h"
#include "state/lease_store.h"
#include "state/store.h"

enum gc_outcome {
	GC_STAYS,
	GC_GOES, /* it may go; in a dry run nothing is done about it, with `mark` the rest is the caller's */
	GC_GONE,
	GC_FAILED, /* it should have gone and could not */
};

struct gc_item {
	bool leased; /* else a foreign device that nobody has leased, or a definition without one */
	struct vgpu_ref vgpu;
	struct lease lease;   /* as it was found, if `leased` */
	enum presence exists; /* the device; neither this nor `leased`: a definition of Nova's alone */
	bool novas;           /* a foreign one, or a definition, which Nova counts as its own (reclaim.h) */
	int64_t due_ms;       /* it may go then, if nothing changes; 0: not known; a foreign one: as in reclaim.h */
	bool removes; /* going means that the device, or definition, is removed; else only its lease is dropped */
	enum gc_outcome outcome;
	char why[REASON_SIZE]; /* it goes or stays */
	char trouble[1024];    /* GC_FAILED: what was in the way */
};

struct gc {
	struct store *store;         /* opened; for a pass that does something, opened to be written */
	const struct config *config; /* NULL: none, or one with an error; then no foreign device goes */
	const struct policy *policy; /* the configuration's, or the defaults */
	const char *type;            /* foreign devices and definitions of this type only; NULL all */
	const char *pgpu;            /* what is on this pGPU only; NULL all */
	const char *domain, *state;  /* leases of this domain and in this state only, no orphans; NULL all */
	const char *kept_type;       /* only what is in the way of this type; NULL all */
	const struct inventory *inv; /* for that: VFs of other types are left out; NULL: none is */
	bool unused;                 /* foreign devices and definitions that were not made for a guest go, too */
	bool unless_leased;          /* nothing goes while one of the leases stays */
	bool dry;                    /* judge only: writes nothing, not even since when a device has been seen free */
	int64_t looked_ms;           /* no lease is judged that is not older; 0: than this pass */
	bool (*runs)(const void *arg, const char *domain); /* who runs, as far as libvirt said; NULL: not asked */
	const void *arg;
	bool mark;          /* what goes of the leases is marked `releasing`, and left so; no foreign device goes */
	int64_t wait_by_ms; /* the pass's own: so long it waits for a pGPU's lock */
	/* the result */
	struct gc_item *items; /* the leases by their id, then the foreign devices, then the definitions */
	size_t n;
	int garbage;              /* records that could not be understood, and were passed over */
	int aside;                /* of them, those that were moved to garbage/: none in a dry run */
	char unread[REASON_SIZE]; /* processes that were not looked into to the end (vfio_users.h); "" none */
	struct err undefined;     /* of the first definition that could not be read; .code 0: none */
};

/*
 * Makes the pass. An error means that nothing could be judged (who has what open, what libvirt's files name); what goes
 * wrong with one item is that item's trouble. Takes `release_timeout` and `driver_cleanup` at most, `lock_timeout` of
 * it for pGPUs whose driver others have written to, and the driver's time for what it writes.
 */
int gc_run(struct gc *gc, struct err *err);
void gc_free(struct gc *gc);

enum { GC_GARBAGE_SIZE = 128 };

/* How many records could not be understood, and whether they were moved; false: none. */
bool gc_say_garbage(const struct gc *gc, char text[GC_GARBAGE_SIZE]);
