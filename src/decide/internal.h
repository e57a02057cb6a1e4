/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the parts of plan share. If a function with a non-const planner returns false, it has ended the plan with a
 * refusal or with PLAN_WAIT. The exception is plan_finish_release(). plan->kind is PLAN_STEPS until then.
 */
#pragma once

#include "decide/plan.h"
#include "decide/capacity.h"

/* What to remove for a step, beside what the plan removes already. */
struct removal {
	char ids[PLAN_REMOVES_MAX][ID_SIZE];
	size_t n;
};

struct planner {
	struct world *world; /* with a copy of the leases, to which each step adds its lease */
	struct plan *plan;

	/* index of the current request */
	size_t req;
	struct resolved_request narrowed; /* a copy with the types that the pool and the source host allow */
	struct resolved_request *resolved;
	struct step *step;
	const struct inv_parent *only; /* the only permitted VF; NULL: any VF */
	struct removal removal;        /* set by plan_choose() */
};

/* A card's VFs for a type. VFs of one IOMMU group count once, because one guest gets the whole group. */
struct capacity_vfs {
	int all, free;
	int suited;                    /* free VFs that suit the hostdev */
	const struct inv_parent *best; /* the preferred VF among `suited`; NULL: none */
	char why[REASON_SIZE];         /* why the IOMMU group of an unused VF is not free; "": none */
};

bool capacity_counts(const struct capacity_query *query, const struct lease *lease);

/* Does the lease use capacity of this card without a device? If `releasing`, only while at work, or for a plain VF. */
bool capacity_is_pending(const struct capacity_query *query, const struct inv_pgpu *card, const struct lease *lease);

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
 * Chooses a parent for a new device `id`, and sets the step. Returns:
 *   PLAN_STEPS: it has capacity
 *   PLAN_REMOVE: it has capacity after p->removal
 *   PLAN_WAIT, PLAN_REFUSE: no step; see the verdicts
 */
enum plan_kind plan_choose(struct planner *p, const char *id);

/* Adds the removal of this vGPU to the plan. plan_remove_first(): the step is possible afterwards. */
void plan_remove(const struct planner *p, const char *id);
void plan_remove_first(const struct planner *p, const char *id);

/* True if the card serves one of the request's types, or if the request has no type. */
bool plan_is_served(const struct planner *p, const struct inv_pgpu *card);

/* Is the vGPU reclaimable, not promised by this plan, and not named by the starting domain? */
bool plan_may_remove(const struct world *world, const char *id);

/* plan_arrive.c */
bool plan_arrival(struct planner *p);

/* Plans a VF for a definition or an attach: the named VF or, if a start would refuse that, another. */
bool plan_assignment(struct planner *p);

/* The type's name on the source; "": not known, or of another driver version. */
const char *plan_source_name(const struct planner *p);

/* Drops types whose name here differs from the name on the source. Keeps all if all differ. */
void plan_source_narrow(const struct planner *p);

/* plan_vf.c: can the hostdev use this VF? Without a `device`, the VF must be in the pool. If not, refuses. */
bool plan_vf_suits(struct planner *p, const struct inv_parent *vf, const struct inv_device *device);

/* Can a guest have this VF now? If not, refuses. */
bool plan_vf_permits(struct planner *p, const struct inv_parent *vf, const struct inv_device *device);

/* Plans a start with a VF that has a type. `own`: the domain's lease of it; NULL: none. */
bool plan_vf_typed(struct planner *p, const struct inv_device *device, const struct lease *own);

/* Do the parent's kind and driver suit the hostdev, and is its IOMMU group free? True for NULL, a parent not read. */
bool plan_parent_suits(const struct planner *p, const struct inv_parent *parent);

/* plan.c: plans a start with this vGPU, which must not be another domain's. */
bool plan_start(struct planner *p, const char *id);
bool plan_creation(struct planner *p, const char *id);
bool plan_existing(struct planner *p, const struct inv_device *device, const struct lease *own);

/* Sets the step. Returns true. */
bool plan_step(const struct planner *p, enum step_kind kind, const struct vgpu_ref *vgpu, const char *why);

/* Plans a wait until the kernel has created or removed the device. Refuses if its `lease` (NULL: none) hangs. */
bool plan_wait_for_kernel(struct planner *p, const char *parent, const struct lease *lease);

/* Plans the removal of the vGPU, and the expected step. False: it must stay, does not fit, or a removal failed. */
bool plan_finish_release(struct planner *p, const struct lease *lease);

/* Does this ID mean the requested type on this card? An ID can mean another type on another card. */
bool plan_type_means(const struct planner *p, const struct inv_pgpu *card, const char *type);

bool plan_device_fits(const struct planner *p, const struct inv_device *device);

/* The fix for an instance of Nova: only Nova can write its metadata. */
#define PLAN_NOVA_ANOTHER "shelve and unshelve the instance, for which Nova then takes another mdev"
/* The fix if a device's type differs from that in the metadata. */
const char *plan_change_type(const struct planner *p);

bool plan_refuse(struct planner *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Refuses. The text is `what`, then why the configuration is not valid, then the fix. Returns false. */
bool plan_refuse_unconfigured(struct planner *p, const char *what);

/* For a PCI hostdev, also lists the free VFs. */
bool plan_refuse_device(struct planner *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Marks the refusal as REFUSED_IN_USE. */
bool plan_in_use(struct planner *p);

/* The VF of the pool that the hostdev names; NULL: none, or the address is the migration source's. */
const struct inv_parent *plan_own_vf(const struct planner *p);

/* plan_text.c: writes "nvidia-222" or "VGPU (nvidia-222, nvidia-231)", and where the types come from. */
void plan_text_request(const struct resolved_request *resolved, char *buf, size_t size);

/* Writes how to make a GPU instance for a MIG-backed type. `mig`: is MIG mode on? 1, 0 or UNKNOWN. */
void plan_text_instance_fix(const struct inventory *inv, const struct inv_pgpu *card, const struct inv_type *type,
			    int mig, char fix[REASON_SIZE]);

/* Refuses a request without a type. */
bool plan_refuse_untyped(struct planner *p);

void plan_text_no_capacity(const struct planner *p);

/* Writes "; free: 0000:41:00.5, 0000:41:00.6 and 12 more", or "". False: VFs serve the request, but none is free. */
bool plan_text_free_vfs(const struct planner *p, char *buf, size_t size);
