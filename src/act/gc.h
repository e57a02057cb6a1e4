/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One pass over everything that can be released without a request from its domain: leases that have expired, are void
 * or await their release, leases whose domain no longer runs, orphans, and Nova's mdevctl definitions without a device.
 *
 * The pass judges each of these (decide/fate.h) and releases what it can (release.h). An NVIDIA driver's clean-up time
 * runs for all of them at once.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "config/config.h"
#include "base/err.h"
#include "look/inventory.h"
#include "look/pool.h"
#include "state/store.h"
#include "act/fate_facts.h"

enum gc_outcome {
	GC_STAYS,
	GC_GOES, /* may be released; a dry pass releases nothing; with `seen`, the caller releases it */
	GC_GONE,
	GC_FAILED, /* should have been released, but could not be */
};

struct gc_item {
	struct vgpu_ref vgpu;
	bool leased; /* false: a foreign device, or a definition without a device */
	struct lease lease;
	enum presence exists; /* of the device; ABSENT and not `leased`: the item is a definition of Nova */
	bool novas;           /* Nova counts the foreign device or the definition as its own */
	bool removes;         /* the release removes the device or definition; false: it drops only the lease */
	enum gc_outcome outcome;
	struct fate fate;
	char trouble[1024]; /* the error, if GC_FAILED */
};

/* A fault of a running domain: a vGPU is not actively leased to it, or has been missing since a suspend. */
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
	const struct inventory *inv; /* in a dry pass, the host as the caller has read it; NULL: the pass reads it */
	struct libvirt_files *files; /* libvirt's files as the caller has read them; NULL: the pass reads them */
	bool unused;                 /* also removes foreign devices and definitions that were not made for a guest */
	bool dry;                    /* judges only, and records nothing */
	int64_t looked_ms;           /* judges only leases older than this; 0: older than the pass */
	/*
	 * The leases whose domain had the device at the last pass; on return, at this pass. If the device is missing
	 * later, it was unplugged, and its release does not wait for start_grace. Only the device handler sets `seen`.
	 * With `seen`, a pass leases to running domains what they have, does not finish the releases that it marks, and
	 * removes no foreign device.
	 */
	struct lease_marks *seen;
	/* The result. */
	struct libvirt_files *disk;
	struct running running;  /* with `seen`: the running domains and their vGPUs */
	struct inventory looked; /* the host as the pass has read it */
	struct gc_item *items;   /* leases by ID, then foreign devices, then definitions */
	size_t n;
	struct gc_note *notes; /* faults of running domains, and whether they were corrected */
	size_t nnotes;
	int garbage;              /* invalid records, which were skipped */
	int aside;                /* invalid records that were moved to garbage/; 0 in a dry pass */
	char unread[REASON_SIZE]; /* processes that could not be read completely (vfio_users.h); "" none */
	/* The facts of the verdicts, read once. */
	struct fate_look look;
	struct leases leases;
	struct vfio_users *users;
	struct definition *definitions; /* of mdevctl; none without Nova */
	size_t ndefinitions;
	struct err undefined; /* error of the first definition that could not be read; .code 0: none */
};

/*
 * Makes the pass. The results must be empty. An error means that the devices or leases are unreadable, and nothing was
 * judged; an error with one item sets that item's `trouble`. Releasing leases takes at most `release_timeout` plus
 * `driver_cleanup`, plus the driver's time for the pass's own writes.
 */
int gc_run(struct gc *gc, struct err *err);
void gc_free(struct gc *gc);

/* The item of a vGPU, leased or not; NULL none. */
struct gc_item *gc_find(const struct gc *gc, const char *id);

#define autogc __attribute__((cleanup(gc_free)))

/*
 * gc_run() in two parts: gc_judge() judges; gc_finish() releases, except in a dry pass. Between them, the caller can
 * remove items, or make them stay.
 */
int gc_judge(struct gc *gc, struct err *err);
void gc_finish(struct gc *gc);

/*
 * adopt.c: leases each vGPU that a running domain has without a lease, and reports each vGPU that is leased to another
 * domain. Checks each device again before its lease is written, because the pass has looked without a lock. Returns 1
 * if a lease was written.
 */
int gc_adopt(struct gc *gc, struct err *err);

enum { GC_GARBAGE_SIZE = 128 };

/* Writes how many records are invalid, and whether they were moved. False: none is invalid. */
bool gc_say_garbage(const struct gc *gc, char text[GC_GARBAGE_SIZE]);
