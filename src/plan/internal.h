/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the parts of plan share: the plan under work, and the choice of a parent.
 *
 * Functions that return bool and take a planner to write to end the plan where they return false: with a refusal, or
 * with what to wait or look for.
 */
#pragma once

#include "plan/plan.h"
#include "plan/capacity.h"

struct planner {
	struct world
		*world; /* with leases of its own: those that a step takes over leave it, so that each counts once */
	struct plan *plan;
	struct leases promised; /* what earlier requests of this plan take */

	/* The request at hand. */
	size_t req;
	struct resolved_request *resolved; /* a copy, narrowed to what the pool and the source allow */
	struct step *step;                 /* what it gets */
	int over_quota;                    /* leases that must go before it is within the quota */
	const struct inv_parent *only;     /* the one VF that may be chosen; NULL any */
};

/*
 * The VFs of a card for a type; if the card is in the pool, the pool's. Of plain VFs an IOMMU group is counted: a guest
 * gets all of it.
 */
struct capacity_vfs {
	int units; /* of the card, also those that the pool leaves out */
	int all, free;
	int suited;                    /* of those that are free */
	const struct inv_parent *best; /* the first of the suited ones that are liked best; NULL: there is none */
	char why[REASON_SIZE];         /* what keeps a domain from the group of one that nobody has; "" */
};

struct capacity_vfs capacity_vfs(const struct capacity_query *query, const struct inv_pgpu *card, const char *type);

/* The capacity for the request; what is leased for `id` does not count. */
static inline struct capacity_query plan_query(const struct planner *p, const char *id)
{
	return (struct capacity_query){ .world = p->world,
					.promised = &p->promised,
					.req = p->resolved->req,
					.id = id,
					.last = p->resolved->last_parent };
}

/* The device that is asked for; "": any will do. */
static inline const char *plan_named(const struct vgpu_request *req)
{
	return req->any ? "" : req->id;
}

/* Who has it open. */
static inline const char *plan_opener(const struct device_facts *facts)
{
	return *facts->by ? facts->by : "a process";
}

/*
 * Chooses a parent for a device `id` that is to be created, and fills in the step: PLAN_STEPS, or PLAN_REMOVE if
 * reclaimable devices go for it. Else the verdicts say why not, pGPU by pGPU.
 */
enum plan_kind plan_choose(struct planner *p, const char *id);

/* Writes as the step's reason what is removed for it. */
void plan_explain_removal(const struct planner *p);

/* Does the card serve one of the request's types? */
bool plan_is_served(const struct planner *p, const struct inv_pgpu *card);

/* May it be removed, and does the domain not start with it: is no other of its vGPUs adopted or kept there? */
bool plan_may_go(const struct world *world, const char *id);

/* plan_arrive.c: what is reserved for a domain that arrives (migrate, restore). */
bool plan_arrival(struct planner *p);

/* A VF outside a start or an arrival: the named one if a start could have it, else another. */
bool plan_assignment(struct planner *p);

/* Is the driver of the source known to be of another version? */
bool plan_driver_differs(const struct planner *p);

/* Of several types, keeps those that have the name that the source gives, if there are any. */
void plan_source_narrow(const struct planner *p);

/*
 * plan_quota.c: is the domain within its project's quota with one vGPU more, `id`, where need be without leases that
 * may go? And those leases, which have to be removed before the step that was found is done.
 */
bool plan_quota(struct planner *p, const char *id);
void plan_quota_removes(struct planner *p);

/* plan_vf.c: a hostdev of type pci, for a start; and what its request is known to be beyond the XML. */
bool plan_vf_prepare(struct planner *p);
void plan_vf_request(const struct planner *p);

/* May the domain's hostdev be on this VF at all? */
bool plan_vf_suits(struct planner *p, const struct inv_parent *vf);

/* May the hostdev be on this parent, as far as its kind and the parent's driver go? NULL: one that is not read. */
bool plan_can_be(const struct planner *p, const struct inv_parent *parent);

/* plan.c: creates a vGPU that does not exist. */
bool plan_creation(struct planner *p, const char *id);

/* A device that exists, for a start: kept, adopted, or refused. */
bool plan_existing(struct planner *p, const struct inv_device *device, const struct lease *own);

/* Takes a device that exists; the step's fields come from the inventory. */
void plan_adopt(const struct planner *p, const struct inv_device *device);

/* Its creation or removal goes on: ends the plan with a wait; false. */
bool plan_wait_for_kernel(struct planner *p, const char *parent);

/* If nothing says which type, sets the only one that this VF (NULL: the pool) has for the request's kind. */
void plan_only_type(const struct planner *p, const struct inv_parent *vf);

/* Is the type of this ID, as the card has it, what the request means by it? A number belongs to its card. */
bool plan_type_means(const struct planner *p, const struct inv_pgpu *card, const char *type);

/* Is an existing device of a type that fits? */
bool plan_device_fits(const struct planner *p, const struct inv_device *device);

/* Is the type one of those that the request names (or does it name none)? */
bool plan_type_fits(const struct resolved_request *resolved, const char *type);

/* What a Nova operator can do: the metadata of an instance is Nova's to write. */
#define PLAN_NOVA_ANOTHER "shelve and unshelve the instance, for which Nova then takes another mdev"
/* What to do about a device of another type than the metadata asks for. */
const char *plan_change_type(const struct planner *p);

/* Ends the plan with a refusal; false, so that it can be returned. */
bool plan_refuse(struct planner *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The same: `what` holds, and why there is no configuration that could change it. */
bool plan_refuse_unconfigured(struct planner *p, const char *what);

/* The same; of a VF with those that would do. */
bool plan_refuse_device(struct planner *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* plan_text.c: "nvidia-222, nvidia-231": the enabled types that a hostdev of this kind can have here; "" none. */
void plan_text_types(const struct planner *p, char *buf, size_t size);

/* "nvidia-222", or "VGPU (nvidia-222, nvidia-231)" if several types would do; and who says so, if not the metadata. */
void plan_text_request(const struct resolved_request *resolved, char *buf, size_t size);

/*
 * Writes into the plan why no pGPU has capacity: pGPUs with the same cause together; what does not fit ends in "and N
 * more". With the domain's name and the device's id before it, the text fits into the line that libvirt shows.
 */
void plan_text_no_capacity(const struct planner *p);

/*
 * "; free: 0000:41:00.5, 0000:41:00.6 and 12 more": the VFs that would do for the request, or nothing. False: the pool
 * has VFs for it, and none is free.
 */
bool plan_text_free_vfs(const struct planner *p, char *buf, size_t size);
