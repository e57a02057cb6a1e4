/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Capacity: can this pGPU carry one more vGPU of a type now, and on which parent? Part of plan, and as pure.
 *
 * What counts is the union of the devices that the kernel has and the leases whose devices it does not have yet. The
 * kernel's count knows the first; what is promised beyond it is taken off. VFs are counted per pGPU, never per VF.
 *
 * Facts (NVIDIA): all vGPUs of a pGPU have one framebuffer size unless mixed-size mode is on; then types of another
 * size show capacity although the card is in use. On SR-IOV cards available_instances is 0 or 1 per VF, and the sum
 * over VFs is no capacity: that is min(max_instance, VFs). On a card that carries several sizes the framebuffer that is
 * left is what bounds. A MIG-backed type is offered while a GPU instance of its size is free.
 */
#pragma once

#include "plan/plan.h"

struct capacity {
	bool has;
	int left;                        /* how many more fit */
	const struct inv_parent *parent; /* to use; NULL none */
	double share;                    /* of the pGPU in use, 0 to 1 */
	double whole_mib;                /* the pGPU's framebuffer; 0: not known */
	bool in_flight;                  /* no capacity, but a creation or release under way could make some */
	bool full;                       /* no capacity because of what is there: removing something could help */
	bool unsuited;                   /* no capacity because the free VFs are none for this hostdev */
	enum cause cause;                /* no capacity: why, and a command that helps, "" none */
	char reason[REASON_SIZE];
	char fix[REASON_SIZE];
};

/* What capacity is asked for. */
struct capacity_query {
	const struct world *world;
	const struct leases *promised;  /* by this plan already, beyond world->leases */
	const struct vgpu_request *req; /* whose hostdev it is for; NULL: all suit */
	const char *id;                 /* what is leased for this one does not count; "" */
	const char *last;               /* a VF to prefer; "" */
};

void capacity_on(struct capacity *space, const struct capacity_query *query, const struct inv_pgpu *card,
		 const char *type);

/* Does the parent's driver suit the hostdev? A plain VF needs VFIO's, or libvirt to bind it. */
bool capacity_parent_suits(const struct inv_parent *parent, const struct vgpu_request *req);

/* How the pGPU (not just one VF of it) failed with the type in this run, or else a removal on it; NULL: neither did. */
const struct failed_attempt *capacity_failed_attempt(const struct world *world, const char *pgpu, const char *type);

/*
 * Is the parent free, and the pool's for this type (NULL: for any)? It carries no device, no lease but that of `id`,
 * no process has it open, its driver has not lost it, and it has not failed in this run.
 */
bool capacity_parent_is_free(const struct capacity_query *query, const struct inv_parent *parent, const char *type);

/*
 * Can the domain have the IOMMU group of this plain VF? A group belongs to one domain, and no other driver may hold a
 * device of it, or QEMU says "group is not viable". `why`: what keeps the domain from it.
 */
bool capacity_group_is_free(const struct capacity_query *query, const struct inv_parent *parent, char why[REASON_SIZE]);

/* What people are shown of one type on one pGPU, in the pool or not. */
struct capacity_count {
	/* The most that fit on an empty card: min(max_instance, VFs); if that is not known, what is used and offered. */
	int capacity;
	int used; /* vGPUs of this type that exist on it */
	/* Can be created now: the kernel's offer, less what is promised, within the cap; MIG-backed: at least. */
	int available;
	enum cause cause;         /* none is available: why */
	char reason[REASON_SIZE]; /* likewise */
};

void capacity_count(struct capacity_count *count, const struct world *world, const struct inv_pgpu *card,
		    const struct inv_offer *offer);

/*
 * A pGPU's framebuffer, and how much of it vGPUs and reservations take, in MiB. In MIG mode, or while the driver lists
 * no type that fills the card, the first is UNKNOWN and only the vGPUs tell the second.
 */
struct capacity_framebuffer {
	int whole, used;
};

struct capacity_framebuffer capacity_framebuffer(const struct world *world, const struct inv_pgpu *card);
