/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Capacity: can this pGPU carry one more vGPU of a type now, and on which parent? Counted per pGPU, never per VF.
 *
 * The kernel's count of available instances accounts for existing devices. Leases whose device is not in the kernel yet
 * are subtracted from that count.
 *
 * Facts (NVIDIA): all vGPUs of a pGPU have one framebuffer size unless mixed-size mode is on. In this mode, types of
 * other sizes show capacity although the card is in use. On SR-IOV cards available_instances is 0 or 1 per VF, but the
 * capacity is min(max_instance, VFs), not the sum over VFs. A card with several sizes is limited by its remaining
 * framebuffer. A MIG-backed type is offered while a GPU instance of its size is free.
 */
#pragma once

#include "plan/plan.h"

struct capacity {
	bool has;
	int left;                        /* how many more fit */
	const struct inv_parent *parent; /* the parent to use; NULL none */
	double share;                    /* the used part of the pGPU, 0 to 1 */
	double whole_mib;                /* the pGPU's framebuffer; 0: unknown */
	bool in_flight;                  /* no capacity, but a creation or release in progress may make some */
	bool full;                       /* a limit of the card leaves no capacity: a removal may help */
	enum cause cause;                /* if !has: the cause, the reason, and a command that helps ("" none) */
	char reason[REASON_SIZE];
	char fix[REASON_SIZE];
};

struct capacity_query {
	const struct world *world;
	const struct resolved_request *resolved; /* NULL: every parent suits, and none is preferred */
	const char *id;                          /* its lease counts only if it is promised; NULL: all leases count */
};

/* A type or card outside the pool has no capacity. */
void capacity_on(struct capacity *space, const struct capacity_query *query, const struct inv_pgpu *card,
		 const char *type);

/* Does the parent's driver suit the hostdev? A plain VF needs a VFIO driver, unless libvirt binds one. */
bool capacity_parent_suits(const struct inv_parent *parent, const struct vgpu_request *req);

/* This run's failed attempt that excludes the pGPU for the type; a removal only if there is no other. NULL none. */
const struct failed_attempt *capacity_failed_attempt(const struct world *world, const char *pgpu, const char *type);

/* Is the parent free, and in the pool for this type (NULL: any type)? */
bool capacity_parent_is_free(const struct capacity_query *query, const struct inv_parent *parent, const char *type);

/* The displayed counts of one type on one pGPU, in the pool or not. */
struct capacity_count {
	int capacity;             /* the most that fit on an empty card; if that is unknown, used plus offered */
	int used;                 /* existing vGPUs of this type on the card */
	int available;            /* how many can be created now; a lower bound if MIG-backed */
	enum cause cause;         /* why `available` is 0 */
	char reason[REASON_SIZE]; /* `cause` in words */
};

/* `offer` NULL: the card does not offer the type; returns false and leaves `count` as it is. */
bool capacity_count(struct capacity_count *count, const struct world *world, const struct inv_pgpu *card,
		    const struct inv_offer *offer);

/*
 * A pGPU's framebuffer, and how much of it vGPUs and reservations use, in MiB. `whole` is UNKNOWN in MIG mode, or while
 * the driver lists no type that fills the card. In that case a `used` of 0 becomes UNKNOWN as well.
 */
struct capacity_framebuffer {
	int whole, used;
};

struct capacity_framebuffer capacity_framebuffer(const struct world *world, const struct inv_pgpu *card);
