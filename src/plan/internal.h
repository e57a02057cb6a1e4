/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the parts of plan share: the plan under work, and the choice of a parent.
 *
 * Included by plan*.c only.
 */
#pragma once

#include "plan/plan.h"
#include "plan/capacity.h"

struct planner {
	/* A copy with leases of its own: those that a step takes over leave it, so that each counts once. */
	struct world *world;
	struct plan *plan;
	struct leases promised; /* what earlier requests of this plan take */
	int over_quota;         /* so many leases that may go must, before the request at hand is within its quota */
	const struct inv_parent *only; /* the one VF that may be chosen; NULL any */
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

/*
 * capacity_card.c: is the card in MIG mode? 1 or 0 where what is on it or on offer tells: in that mode all of it is
 * backed by GPU instances, and without it none.
 */
int capacity_mig_mode(const struct inventory *inv, const struct inv_pgpu *card);

/* A card's framebuffer, as far as the types that were read tell: of small ones there may be fewer than would fit. */
double capacity_whole_mib(const struct inv_pgpu *card);

/* How the search for a parent ended. */
enum choice { CHOSEN, CHOSEN_AFTER_REMOVAL, NO_CAPACITY, NO_CAPACITY_YET };

/* Fills `step` for a device `id` that is to be made; on NO_CAPACITY… the verdicts say why not, pGPU by pGPU. */
enum choice plan_choose(struct planner *p, size_t req, const char *id, struct step *step);

/* Why the step can be: what is removed for it, by name; a domain's own, or one that nobody has. */
void plan_tell_removal(const struct planner *p, struct step *step);

/* What is reserved for one request of a domain that arrives (migrate, restore). */
bool plan_arrival(struct planner *p, size_t req, struct step *step);

/* A VF outside a start or an arrival: the one that is named if a start could have it, else another. */
bool plan_assignment(struct planner *p, size_t req, struct step *step);

/* A device that exists, for a start: kept, adopted, or refused. */
bool plan_existing(struct planner *p, size_t req, const struct inv_device *device, const struct lease *own,
		   struct step *step);

/* Who has it open. */
const char *plan_opener(const struct device_facts *facts);

/* Its creation or removal goes on: ends the plan with a wait; false. */
bool plan_wait_for_kernel(struct planner *p, size_t req, const char *parent);

/* May the hostdev be on this parent, as far as its kind and the parent's driver go? NULL: one that is not read. */
bool plan_can_be(const struct world *world, const struct inv_parent *parent, const struct vgpu_request *req);

/*
 * plan_quota.c: is the domain within its project's quota with one vGPU more, `id`, where need be without leases that
 * may go? Ends the plan where not. And those leases, which have to be removed before the step that was found is done.
 */
bool plan_quota(struct planner *p, size_t req, const char *id);
void plan_quota_removes(struct planner *p, const struct step *step);

/* May it be removed, and is it none that the domain starts with: another of its vGPUs is to be adopted or kept there?
 */
bool plan_may_go(const struct world *world, const char *id);

/* plan_vf.c: a hostdev of type pci, for a start; and what its request is known to be beyond the XML. */
bool plan_vf_prepare(struct planner *p, size_t req, struct step *step);
void plan_vf_request(const struct world *world, struct resolved_request *resolved);

/* May the domain's hostdev be on this VF at all? Where not, the plan ends with the reason. */
bool plan_vf_suits(struct planner *p, size_t req, const struct inv_parent *vf);

/* Nobody says which type: the only one that this VF (NULL: the pool) has for the request's kind, if it is one. */
void plan_only_type(const struct world *world, struct resolved_request *resolved, const struct inv_parent *vf);

/* Does what a domain brings from the source of a migration fit here? Ends the plan with the refusal where not. */
bool plan_source_fits(struct planner *p, size_t req);

/* Is the driver of the source known to be of another version? */
bool plan_driver_differs(const struct world *world, const struct vgpu_request *req);

/* Of several types that a request may have, leaves those that are called as on the source, if there are any. */
void plan_source_narrow(const struct world *world, struct resolved_request *resolved);

/* What a Nova operator can do: the metadata of an instance is Nova's to write. */
#define PLAN_NOVA_ANOTHER "shelve and unshelve the instance, for which Nova then takes another mdev"
/* What to do about a device of another type than the metadata asks for. */
const char *plan_change_type(const struct planner *p);

/* Makes a vGPU that does not exist: chooses, or ends the plan with the reason. */
bool plan_creation(struct planner *p, size_t req, const char *id, struct step *step);

/* Takes a device that exists; its fields from the inventory. */
void plan_adopt(const struct planner *p, const struct inv_device *device, struct step *step);

/* Ends the plan with a refusal; false, so that it can be returned. */
bool plan_refuse(struct planner *p, size_t req, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* The same: `what` holds, and why there is no configuration that could change it. */
bool plan_refuse_unconfigured(struct planner *p, size_t req, const char *what);

/* The same; of a VF with those that would do. */
bool plan_refuse_device(struct planner *p, size_t req, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* The device that is asked for; "": any will do. */
const char *plan_named(const struct vgpu_request *req);

/* Is the type of this ID, as the card has it, what the request means by it? A number belongs to its card. */
bool plan_type_means(const struct world *world, const struct resolved_request *resolved, const struct inv_pgpu *card,
		     const char *type);

/* Is an existing device of a type that fits? */
bool plan_device_fits(const struct world *world, const struct resolved_request *resolved,
		      const struct inv_device *device);

/* Is the type one of those that the request names (or does it name none)? */
bool plan_type_fits(const struct resolved_request *resolved, const char *type);
