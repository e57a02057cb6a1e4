/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the parts of plan share. A function that takes a non-const planner and returns bool ends the plan before it
 * returns false: with a refusal, or with PLAN_WAIT.
 */
#pragma once

#include "decide/plan.h"
#include "decide/capacity.h"
#include "look/resolve.h"

struct planner {
	struct world *world; /* its leases are a copy, to which each step adds the lease of its vGPU */
	struct plan *plan;

	/* The current request. */
	size_t req;
	struct resolved_request narrowed;  /* a copy with the types that the pool and the source host allow */
	struct resolved_request *resolved; /* points to `narrowed` */
	struct step *step;
	int over_quota;                /* how many leases must be removed for the quota */
	const struct inv_parent *only; /* the only permitted VF; NULL: any VF */
};

/*
 * The numbers of a card's VFs for a type. On a card outside the pool, every VF counts. Plain VFs of one IOMMU group
 * count once, because one guest gets the whole group.
 */
struct capacity_vfs {
	int all, free;
	int suited;                    /* free VFs that suit the hostdev */
	const struct inv_parent *best; /* the preferred one of the suited VFs; NULL none */
	char why[REASON_SIZE];         /* why the IOMMU group of an unused VF is not free; "" none */
};

bool capacity_counts(const struct capacity_query *query, const struct lease *lease);

struct capacity_vfs capacity_vfs(const struct capacity_query *query, const struct inv_pgpu *card, const char *type);

static inline struct capacity_query plan_query(const struct planner *p, const char *id)
{
	return (struct capacity_query){ .world = p->world, .resolved = p->resolved, .id = id };
}

/* The ID of the requested device; "": any device. */
static inline const char *plan_named(const struct vgpu_request *req)
{
	return req->any ? "" : req->id;
}

/*
 * Chooses a parent for a new device `id`. PLAN_STEPS: the step is set. PLAN_REMOVE: the step is set, but its parent has
 * capacity only after the removals. PLAN_WAIT, PLAN_REFUSE: the verdicts say why no pGPU was chosen.
 */
enum plan_kind plan_choose(struct planner *p, const char *id);

/* Ends the plan with PLAN_REMOVE of this vGPU. The step becomes possible after the removal. */
void plan_remove_first(struct planner *p, const char *id);

/* True if the card serves one of the request's types, or the request has none. */
bool plan_is_served(const struct planner *p, const struct inv_pgpu *card);

/* Is the vGPU reclaimable, and neither promised by this plan nor named by the starting domain? */
bool plan_may_remove(const struct world *world, const char *id);

/* plan_arrive.c: plans what is reserved for an arriving domain (migrate, restore). */
bool plan_arrival(struct planner *p);

/* Plans a VF for a definition or an attach: the named VF, or another one if a start would refuse the named VF. */
bool plan_assignment(struct planner *p);

/* The type's name on the source; "": unknown, or the source has another driver version, which may use another name. */
const char *plan_source_name(const struct planner *p);

/* Drops the types whose names differ on the source and on this host. If all differ, keeps all. */
void plan_source_narrow(const struct planner *p);

/* plan_quota.c: is vGPU `id` within the quota, perhaps after removals? plan_quota_removes() plans the removals. */
bool plan_quota(struct planner *p, const char *id);
void plan_quota_removes(struct planner *p);

/* plan_vf.c: plans a PCI hostdev for a start. plan_vf_request() adds the named VF and its only type to the request. */
bool plan_vf_prepare(struct planner *p);
void plan_vf_request(const struct planner *p);

/* Can the hostdev use this VF, given the VF's driver and libvirt's version? */
bool plan_vf_suits(struct planner *p, const struct inv_parent *vf);

/* Do the parent's kind and driver suit the hostdev? True if `parent` is NULL, because it was not read. */
bool plan_parent_suits(const struct planner *p, const struct inv_parent *parent);

/* plan.c: plans a new vGPU. */
bool plan_creation(struct planner *p, const char *id);

/* Plans a start with an existing device: keep, adopt, or refuse. */
bool plan_existing(struct planner *p, const struct inv_device *device, const struct lease *own);

/* Sets the step; fields without an argument come from the inventory and the pool. */
void plan_step(const struct planner *p, enum step_kind kind, const struct vgpu_ref *vgpu, const char *why);

/*
 * Ends the plan, because the kernel is creating or removing the device: with a wait, or, if the driver hangs, with a
 * refusal. `lease`: the device's; NULL: none. Returns false.
 */
bool plan_wait_for_kernel(struct planner *p, const char *parent, const struct lease *lease);

/* If no type is requested or defined, sets the only type that this VF (NULL: the pool) has for the hostdev. */
void plan_only_type(const struct planner *p, const struct inv_parent *vf);

/* Does this type ID mean the requested type on this card? Another card can use the ID for another type. */
bool plan_type_means(const struct planner *p, const struct inv_pgpu *card, const char *type);

bool plan_device_fits(const struct planner *p, const struct inv_device *device);

/* What a Nova operator can do, as only Nova can write an instance's metadata. */
#define PLAN_NOVA_ANOTHER "shelve and unshelve the instance, for which Nova then takes another mdev"
/* What to do if a device's type differs from the type in the metadata. */
const char *plan_change_type(const struct planner *p);

/* Ends the plan with a refusal. Returns false, for the caller to return. */
bool plan_refuse(struct planner *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Refuses with `what` and the reason why there is no configuration. */
bool plan_refuse_unconfigured(struct planner *p, const char *what);

/* Refuses. For a PCI hostdev, the text also lists the free VFs. */
bool plan_refuse_device(struct planner *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Marks the refusal as `in_use`. Returns false. */
bool plan_in_use(struct planner *p);

/* The VF of the pool that the hostdev names; NULL: none, or the address is of the source host of a migration. */
const struct inv_parent *plan_own_vf(const struct planner *p);

/*
 * plan_text.c: writes "nvidia-222" or "VGPU (nvidia-222, nvidia-231)", and the types' source unless it is the metadata.
 */
void plan_text_request(const struct resolved_request *resolved, char *buf, size_t size);

/* Writes the refusal text: why no pGPU has capacity, and what to do. */
void plan_text_no_capacity(const struct planner *p);

/*
 * Lists the free VFs that suit the request as "; free: 0000:41:00.5, 0000:41:00.6 and 12 more", or writes "". Returns
 * false if the pool has VFs for the request but none is free.
 */
bool plan_text_free_vfs(const struct planner *p, char *buf, size_t size);
