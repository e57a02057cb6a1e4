/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One pass over everything that can be released without a request from its domain: leases that have expired, are void
 * or await their release, leases whose domain no longer runs, orphans, and Nova's mdevctl definitions without a device.
 *
 * Each of these is judged (plan/fate.h) and, if possible, released (release.h), all within one period: an NVIDIA
 * driver's clean-up time runs for all of them at once.
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
#include "survey/fate_facts.h"

enum gc_outcome {
	GC_STAYS,
	GC_GOES, /* may be released; nothing is done in a dry run; with `seen` the caller does the rest */
	GC_GONE,
	GC_FAILED, /* should have been released, but could not be */
};

struct gc_item {
	struct vgpu_ref vgpu;
	bool leased;          /* false: a foreign device without a lease, or a definition without a device */
	struct lease lease;   /* as found, if `leased` */
	enum presence exists; /* the device; ABSENT and not `leased`: there is only a definition of Nova's */
	bool novas;           /* a foreign device or definition that Nova counts as its own */
	bool removes;         /* the release removes the device or definition; false: it only drops the lease */
	enum gc_outcome outcome;
	struct fate fate;
	char trouble[1024]; /* GC_FAILED: the error */
};

/* What is wrong with a running domain: a vGPU is not actively leased to it, or has been missing since a suspend. */
struct gc_note {
	bool mended; /* the vGPU is leased to the domain now */
	char id[ID_SIZE];
	char domain[DOMAIN_NAME_SIZE];
	char why[REASON_SIZE];
};

struct gc {
	struct store *store;         /* writable, unless `dry` */
	const struct config *config; /* NULL: not valid, so no foreign device is removed */
	const struct policy *policy; /* the configuration's, or the defaults */
	const struct inventory *inv; /* for a dry pass: the host as the caller has read it; NULL: the pass reads it */
	struct libvirt_files *files; /* libvirt's files, as the caller has read them; NULL: the pass reads them */
	bool unused;                 /* also removes foreign devices and definitions that were not made for a guest */
	bool dry;                    /* judges only; does not even record since when a device has been free */
	int64_t looked_ms;           /* judges only leases older than this; 0: older than the pass */
	/*
	 * Only for the device handler, whose pass only marks leases `releasing`, removes no foreign device, and leases
	 * to running domains what they have: the leases whose domain had the device at the last pass; on return, at
	 * this one. If such a device is missing later, it was unplugged, and its release need not wait for start_grace.
	 */
	struct lease_marks *seen;
	/* the result */
	struct libvirt_files *disk;
	struct running running;  /* with `seen`, what the domains run with */
	struct inventory looked; /* what the pass has seen of the host */
	struct gc_item *items;   /* leases by ID, then foreign devices, then definitions */
	size_t n;
	struct gc_note *notes; /* what was wrong with the domains' vGPUs, and whether it was put right */
	size_t nnotes;
	int garbage;              /* invalid records, which were skipped */
	int aside;                /* invalid records that were moved to garbage/; none in a dry run */
	char unread[REASON_SIZE]; /* processes that could not be read completely (vfio_users.h); "" none */
	/* what its verdicts are based on, read once */
	struct fate_look look;
	struct leases leases;
	struct vfio_users *users;
	struct definition *definitions; /* mdevctl's; none without Nova */
	size_t ndefinitions;
	struct err undefined; /* error of the first definition that could not be read; .code 0: none */
};

/*
 * Makes the pass. The results must be empty. An error means that nothing could be judged (the devices or leases are
 * unreadable); an error with one item sets that item's `trouble`. Releasing leases takes at most `release_timeout` plus
 * `driver_cleanup`, plus the driver's time for the pass's own writes.
 */
int gc_run(struct gc *gc, struct err *err);
void gc_free(struct gc *gc);

/* The item of a vGPU, leased or not; NULL: none. */
struct gc_item *gc_find(const struct gc *gc, const char *id);

#define autogc __attribute__((cleanup(gc_free)))

/*
 * The parts of gc_run(): gc_finish() releases what gc_judge() has judged, except in a dry pass. In between the caller
 * can remove items, or make them stay.
 */
int gc_judge(struct gc *gc, struct err *err);
void gc_finish(struct gc *gc);

/*
 * adopt.c. Leases each vGPU that a running domain has without a lease, and reports each that is leased to another
 * domain. The pass has looked without a lock, so each device is checked again before its lease is written. Returns 1 if
 * a lease was written.
 */
int gc_adopt(struct gc *gc, struct err *err);

enum { GC_GARBAGE_SIZE = 128 };

/* Says how many records are invalid, and whether they were moved; false: none. */
bool gc_say_garbage(const struct gc *gc, char text[GC_GARBAGE_SIZE]);
