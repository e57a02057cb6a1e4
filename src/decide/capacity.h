/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Can this pGPU have one more vGPU of a type now, and on which parent? Leases without a device are subtracted from what
 * the kernel offers.
 *
 * Facts (NVIDIA): All vGPUs of a pGPU have one framebuffer size, except in mixed-size mode. In mixed-size mode, a card
 * in use offers types of other sizes, as far as its remaining framebuffer allows. On SR-IOV cards available_instances
 * is 0 or 1 per VF, and the capacity is min(max_instance, VFs). A MIG-backed type is offered while a GPU instance of
 * its size is free.
 */
#pragma once

#include "decide/plan.h"

struct capacity {
	bool has;
	int left;
	int excess;    /* if `full`: how many vGPUs must go to make capacity for one */
	int short_mib; /* mixed-size mode: how much framebuffer must be freed for one; 0: one size at a time */
	const struct inv_parent *parent; /* the parent to use; NULL: none */
	double share;                    /* the used part of the pGPU, 0 to 1 */
	double whole_mib;                /* the pGPU's framebuffer; 0: not known */
	bool in_flight;                  /* `has` is false, but a creation or release in progress may make capacity */
	bool full;                       /* the card has reached a limit, so a removal may help */
	enum cause cause;                /* why `has` is false; `fix`: a command that helps, or "" */
	char reason[REASON_SIZE];
	char fix[REASON_SIZE];
};

struct capacity_query {
	const struct world *world;
	const struct resolved_request *resolved; /* NULL: every parent is suitable, and none is preferred */
	const char *id; /* skip the lease of this ID, except if this plan has promised it; NULL: count all leases */
};

/* A card or type outside the pool, or a failed candidate, has no capacity. */
void capacity_on(struct capacity *space, const struct capacity_query *query, const struct inv_pgpu *card,
		 const char *type);

/* Does the parent's driver suit the hostdev? A plain VF must have a VFIO driver if libvirt does not bind one. */
bool capacity_parent_suits(const struct inv_parent *parent, const struct vgpu_request *req);

/* The failed attempt that excludes the pGPU for the type, preferably a creation; NULL: none. */
const struct failed_attempt *capacity_failed_attempt(const struct world *world, const char *pgpu, const char *type);

/* Is the parent unused? On a card of the pool, it must also be configured for the type (NULL: any type). */
bool capacity_parent_is_free(const struct capacity_query *query, const struct inv_parent *parent, const char *type);

/* The counts of one type on one pGPU, in the pool or not. */
struct capacity_count {
	int capacity;       /* most vGPUs on an empty card; if not known, used plus offered */
	int used, unleased; /* `unleased` of `used` exist without a lease; a start that names one gets it */
	int available;      /* how many can be created now; for a MIG-backed type, at least */
	enum cause cause;   /* why `available` is 0 */
	char reason[REASON_SIZE];
};

/* False: `offer` is NULL, because the card does not offer the type. */
bool capacity_count(struct capacity_count *count, const struct world *world, const struct inv_pgpu *card,
		    const struct inv_offer *offer);

/* In MiB. `whole` is UNKNOWN in MIG mode, or if the driver lists no type; `used` is then UNKNOWN in place of 0. */
struct capacity_framebuffer {
	int whole, used;
};

struct capacity_framebuffer capacity_framebuffer(const struct world *world, const struct inv_pgpu *card);
