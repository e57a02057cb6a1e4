/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One pass over everything that can be released without a request from its domain: leases, orphans, and Nova's mdevctl
 * definitions without a device. It judges all (decide/fate.h), then releases (release.h).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "act/fate_facts.h"
#include "base/err.h"
#include "look/survey.h"

enum gc_outcome {
	GC_STAYS,
	GC_GOES, /* may be released; a dry pass, or one with `seen`, does not finish the release */
	GC_GONE,
	GC_FAILED,
};

struct gc_item {
	struct vgpu_ref vgpu;
	bool leased; /* false: a foreign device, or a definition without a device */
	struct lease lease;
	enum presence exists; /* of the device; ABSENT and not `leased`: the item is a definition of Nova */
	bool novas;           /* Nova counts the foreign device or the definition as its own */
	bool removes;         /* the release removes the device or definition; false: only drops the lease */
	enum gc_outcome outcome;
	struct fate fate;
	char trouble[1024]; /* the error, if GC_FAILED */
};

struct gc {
	/*
	 * The caller sets `store` (writable unless `dry`) and `config`. Creating and active leases that were written
	 * after `looked_ms` stay; 0: after the pass began. The pass reads the rest.
	 */
	struct world world;
	const struct inventory *inv; /* used by a dry pass; NULL: the pass reads the host */
	struct libvirt_files *files; /* NULL: the pass reads libvirt's files */
	bool unused;                 /* also removes foreign devices and definitions that were not made for a guest */
	bool dry;                    /* judges only, and records nothing */
	/*
	 * The leases whose domain had the device at the last pass; on return, at this pass. If a domain later loses the
	 * device, the release does not wait for start_grace. Set only by the device handler, whose passes lease vGPUs
	 * of running domains, do not finish releases, and remove no foreign device.
	 */
	struct leases *seen;
	/* The results. */
	struct running running; /* with `seen`: the running domains and their vGPUs */
	struct gc_item *items;  /* leases by ID, then foreign devices, then definitions */
	size_t n;
	/* Faults that stay: running domains without an active lease of a vGPU, or without a vGPU since a suspend. */
	char **notes;
	size_t nnotes;
	char garbage[128];        /* how many records are invalid, and whether all were moved to garbage/; "" none */
	char unread[REASON_SIZE]; /* processes that could not be read completely (vfio_users.h); "" none */
	struct fate_look look;
	struct definition *definitions; /* of mdevctl; none without Nova */
	size_t ndefinitions;
	struct err undefined; /* error of the first definition that could not be read; .code 0: none */
};

/* Judges all items; the caller can then remove some, or make them stay. Negative: host or leases cannot be read. */
int gc_judge(struct gc *gc, struct err *err);

/* Releases and removes what goes, unless the pass is dry. An error with an item sets its `trouble`. */
void gc_finish(struct gc *gc);
void gc_free(struct gc *gc);

struct gc_item *gc_find(const struct gc *gc, const char *id);

#define autogc __attribute__((cleanup(gc_free)))

/*
 * adopt.c: leases each vGPU that a running domain has without a lease, and notes the faults of running domains.
 * 1: wrote a lease; 0: wrote none; -ETIMEDOUT: the store's lock is held.
 */
int gc_adopt(struct gc *gc, struct err *err);
