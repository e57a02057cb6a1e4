/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Capacity: can this pGPU have one more vGPU of a type now, and on which parent? The count is per pGPU, not per VF.
 *
 * The kernel's count of available instances includes existing devices. Leases without a device are subtracted from it.
 *
 * Facts (NVIDIA): all vGPUs of a pGPU have one framebuffer size unless mixed-size mode is on. In mixed-size mode, a
 * card in use offers types of other sizes, limited by its remaining framebuffer. On SR-IOV cards available_instances is
 * 0 or 1 per VF, but the capacity is min(max_instance, VFs), not the sum over VFs. A MIG-backed type is offered while a
 * GPU instance of its size is free.
 */
#pragma once

#include "decide/plan.h"

struct capacity {
	bool has;
	int left;
	const struct inv_parent *parent; /* the parent to use; NULL none */
	double share;                    /* the used part of the pGPU, 0 to 1 */
	double whole_mib;                /* the pGPU's framebuffer; 0: unknown */
	bool in_flight;                  /* !has, but a creation or release in progress may make capacity */
	bool full;                       /* a limit of the card is reached: a removal may help */
	enum cause cause;                /* why there is no capacity; `fix`: a command that helps, "" none */
	char reason[REASON_SIZE];
	char fix[REASON_SIZE];
};

struct capacity_query {
	const struct world *world;
	const struct resolved_request *resolved; /* NULL: every parent suits, and none is preferred */
	const char *id;                          /* its lease counts only if promised; NULL: all leases count */
};

/* A type or card outside the pool has no capacity. */
void capacity_on(struct capacity *space, const struct capacity_query *query, const struct inv_pgpu *card,
		 const char *type);

/* Does the parent's driver suit the hostdev? A plain VF needs a VFIO driver, unless libvirt binds one. */
bool capacity_parent_suits(const struct inv_parent *parent, const struct vgpu_request *req);

/*
 * The failed attempt of this run that excludes the pGPU for the type; NULL none. A failed creation precedes a failed
 * removal.
 */
const struct failed_attempt *capacity_failed_attempt(const struct world *world, const char *pgpu, const char *type);

/* Is the parent free? On a card of the pool, the parent must also be configured for the type (NULL: any type). */
bool capacity_parent_is_free(const struct capacity_query *query, const struct inv_parent *parent, const char *type);

/* The counts of one type on one pGPU, which need not be in the pool. */
struct capacity_count {
	int capacity; /* the most that fit on an empty card; if unknown, used plus offered */
	int used;
	int available;    /* how many can be created now; a lower bound if MIG-backed */
	enum cause cause; /* why `available` is 0 */
	char reason[REASON_SIZE];
};

/* Returns false if `offer` is NULL: the card does not offer the type. */
bool capacity_count(struct capacity_count *count, const struct world *world, const struct inv_pgpu *card,
		    const struct inv_offer *offer);

/*
 * A pGPU's framebuffer, and how much of it devices and leases use, in MiB. `whole` is UNKNOWN in MIG mode, or if the
 * driver lists no type. If `whole` is UNKNOWN, a `used` of 0 is UNKNOWN as well.
 */
struct capacity_framebuffer {
	int whole, used;
};

struct capacity_framebuffer capacity_framebuffer(const struct world *world, const struct inv_pgpu *card);
