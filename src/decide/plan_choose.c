/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Chooses a parent, and what to remove if no parent has capacity. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "internal.h"

struct candidate {
	const struct inv_pgpu *card;
	const char *type;
	bool near;
	bool failed; /* in the last five minutes */
	bool last;   /* its parent is the vGPU's previous one, and it has not failed */
	struct capacity space;
	struct removal removal;         /* without `space.has`: what to remove to make capacity */
	const char *shared;             /* an earlier step's removal, which also makes capacity here; NULL: none */
	const struct inv_parent *after; /* the parent to use after the removals; NULL: none */
	bool finishes;                  /* unfinished releases alone make capacity on it */
};

static enum placement placement_of(const struct planner *p)
{
	const struct vgpu_request *req = p->resolved->req;

	return req->has_placement ? req->placement : p->world->config->policy.placement;
}

static bool has_failed(const struct world *world, const struct inv_pgpu *card, const char *type)
{
	for (size_t i = 0; i < world->nfailures; i++)
		if (strcmp(world->failures[i].pgpu, card->address) == 0 && strcmp(world->failures[i].type, type) == 0)
			return true;
	return false;
}

/* The rules of preference, the most important first. `pack` prefers full and small cards, `spread` the reverse. */
enum rule { BY_FAILURE, BY_NODE, BY_SHARE, BY_SIZE, BY_ADDRESS, NO_CHOICE };

static bool better(const struct planner *p, const struct candidate *a, const struct candidate *b, enum rule *rule)
{
	double fuller = a->space.share - b->space.share, larger = a->space.whole_mib - b->space.whole_mib;
	bool sizes = a->space.whole_mib > 0 && b->space.whole_mib > 0;
	int fills = placement_of(p) == PLACE_PACK ? 1 : -1;
	const double prefers[] = {
		[BY_FAILURE] = b->failed - a->failed,
		[BY_NODE] = a->near - b->near,
		[BY_SHARE] = fuller > 1e-9 || fuller < -1e-9 ? fills * fuller : 0,
		[BY_SIZE] = sizes ? -fills * larger : 0,
		[BY_ADDRESS] = strcmp(a->card->address, b->card->address) < 0 ? 1 : -1,
	};

	*rule = BY_FAILURE;
	while (*rule < BY_ADDRESS && prefers[*rule] == 0)
		++*rule;
	return prefers[*rule] > 0;
}

static bool is_near(const struct resolved_request *resolved, const struct inv_pgpu *card)
{
	return resolved->nodes && card->numa >= 0 && card->numa < 64 && (resolved->nodes >> card->numa & 1);
}

bool plan_is_served(const struct planner *p, const struct inv_pgpu *card)
{
	for (int t = 0; t < p->resolved->ntypes; t++)
		if (pool_serves(card, p->resolved->types[t]))
			return true;
	return p->resolved->ntypes == 0;
}

static void add_verdict(const struct planner *p, const struct inv_pgpu *card, enum cause cause, const char *reason,
			const char *fix)
{
	struct plan *plan = p->plan;
	struct verdict *v;

	for (EACH(const struct verdict *, other, plan->verdicts, plan->nverdicts))
		if (other->req == p->req && other->card == card && other->cause == cause &&
		    strcmp(other->reason, reason) == 0)
			return;
	v = mem_add(&plan->verdicts, &plan->nverdicts, sizeof(*v));
	*v = (struct verdict){ .req = p->req, .card = card, .cause = cause };
	text_copy(v->reason, sizeof(v->reason), reason);
	text_copy(v->fix, sizeof(v->fix), fix);
}

/* A card that serves another requested type has a verdict for that type. */
static void pass_over(const struct planner *p, const struct candidate *c)
{
	if (pool_serves(c->card, c->type) || !plan_is_served(p, c->card))
		add_verdict(p, c->card, c->space.cause, c->space.reason, c->space.fix);
}

static void add_missing_cards(const struct planner *p)
{
	for (EACH(const struct missing_card *, m, p->world->missing_cards, p->world->nmissing_cards))
		if (resolve_fits(p->resolved, m->section->type))
			add_verdict(p, &m->card, CAUSE_ABSENT, m->card.reason, "");
}

bool plan_may_remove(const struct world *world, const char *id)
{
	const struct inv_device *device = inventory_device(&world->inv, id);
	const struct lease *lease = lease_find(&world->leases, id);

	if ((world->mode == PLAN_PREPARE && request_names(world->request, id)) || (lease && lease->promised))
		return false;
	return (device && device->facts.reclaimable) || (lease && lease->reclaimable);
}

static bool blocks_type(const struct inventory *inv, const struct inv_pgpu *card, const char *type,
			const char *requested)
{
	const struct inv_type *a = inventory_type(inv, card, type), *b = inventory_type(inv, card, requested);

	/* A MIG-backed type blocks no other type. */
	if (!card->nvidia || !a || !b || a->slices || b->slices)
		return false;
	/* If sizes are unknown, because the card was never seen empty, any other type may block `requested`. */
	if (a->framebuffer_mib == UNKNOWN || b->framebuffer_mib == UNKNOWN)
		return strcmp(type, requested) != 0;
	return a->framebuffer_mib != b->framebuffer_mib;
}

/* If max_instances is reached, or a type is MIG-backed, only removing the candidate's own type makes capacity. */
static bool gives_capacity(const struct candidate *c, const struct inventory *inv, const char *type,
			   const struct inv_parent *parent)
{
	const struct inv_type *requested = inventory_type(inv, c->card, c->type);
	const struct inv_type *removed = inventory_type(inv, c->card, type);
	bool mig = (requested && requested->slices) || (removed && removed->slices);

	if ((mig || c->space.cause == CAUSE_CAP) && strcmp(type, c->type) != 0)
		return false;
	return c->space.parent || !parent || pool_gives(parent, c->type);
}

struct removable {
	int need;    /* vGPUs that must go or, if `in_mib`, framebuffer */
	bool in_mib; /* mixed-size mode, and max_instances is not reached */
	bool stays;  /* what blocks the type must stay */
	struct removable_other {
		const char *id;
		const struct inv_parent *parent; /* NULL: not read */
		int worth;                       /* what its removal contributes to `need` */
	} others[PLAN_REMOVES_MAX];
	size_t nothers;
};

/* The parent is free after a removal, unless an earlier step gets it. */
static void free_parent(const struct planner *p, struct candidate *c, const struct inv_parent *parent)
{
	bool given = false;

	for (size_t i = 0; parent && i < p->plan->nsteps; i++)
		given |= strcmp(p->plan->steps[i].vgpu.parent, parent->name) == 0;
	if (!c->after && parent && !given && pool_gives(parent, c->type))
		c->after = parent;
}

static void remove_for(const struct planner *p, struct candidate *c, struct removable *found,
		       const struct removable_other *other)
{
	memcpy(c->removal.ids[c->removal.n++], other->id, ID_SIZE);
	found->need -= other->worth;
	free_parent(p, c, other->parent);
}

static void add_removable(const struct planner *p, struct removable *found, struct candidate *c,
			  const struct vgpu_ref *vgpu, const struct inv_parent *parent)
{
	const struct inventory *inv = &p->world->inv;
	bool blocks = !c->space.short_mib && blocks_type(inv, c->card, vgpu->type, c->type);
	bool gives = blocks || gives_capacity(c, inv, vgpu->type, parent);
	const struct lease *lease = lease_find(&p->world->leases, vgpu->id);
	bool goes = plan_may_remove(p->world, vgpu->id) && !(lease && lease->keeps);
	const struct inv_type *type = inventory_type(inv, c->card, vgpu->type);
	bool in_mib = found->in_mib && type && type->framebuffer_mib > 0;
	const struct removable_other other = { vgpu->id, parent, in_mib ? type->framebuffer_mib : 1 };

	/* An earlier request removes it. If it also gets the VF, the VF is not free, but the driver can offer more. */
	if (text_find(p->plan->removes, p->plan->nremoves, ID_SIZE, vgpu->id)) {
		found->need -= gives && (!lease || !lease->promised || c->space.parent) ? other.worth : 0;
		c->shared = vgpu->id;
		free_parent(p, c, parent);
	} else if (blocks && goes && c->removal.n < PLAN_REMOVES_MAX)
		remove_for(p, c, found, &other);
	else if (blocks)
		found->stays = true;
	else if (goes && gives && found->nothers < PLAN_REMOVES_MAX)
		found->others[found->nothers++] = other;
}

/* Takes the smallest vGPU that is enough alone, else the largest. */
static struct removable_other take_other(struct removable *found)
{
	struct removable_other *best = found->others, taken;
	int need = found->need;

	for (struct removable_other *o = best + 1; o < found->others + found->nothers; o++)
		if (best->worth < need ? o->worth > best->worth : o->worth >= need && o->worth < best->worth)
			best = o;
	taken = *best;
	memmove(best, best + 1, (size_t)(found->others + --found->nothers - best) * sizeof(*best));
	return taken;
}

/* Lists all vGPUs that block the type, and others until there is capacity for one. False: removals cannot help. */
static bool find_removes(const struct planner *p, struct candidate *c)
{
	const struct world *world = p->world;
	const struct capacity_query query = plan_query(p, "");
	struct removable found = { .in_mib = c->space.short_mib && c->space.cause != CAUSE_CAP };

	c->after = p->only ? p->only : c->space.parent;
	found.need = found.in_mib ? c->space.short_mib : c->space.excess;
	for (const struct inv_device *d = NULL; (d = inventory_next_on(&world->inv, c->card, d));)
		add_removable(p, &found, c, &d->vgpu, d->parent);
	for (EACH(const struct lease *, l, world->leases.list, world->leases.n)) {
		if (capacity_is_pending(&query, c->card, l))
			add_removable(p, &found, c, &l->vgpu, inventory_parent(&world->inv, l->vgpu.parent));
	}
	while ((found.need > 0 || !c->after) && found.nothers && c->removal.n < PLAN_REMOVES_MAX) {
		struct removable_other other = take_other(&found);

		remove_for(p, c, &found, &other);
	}
	c->finishes = true;
	for (size_t i = 0; i < c->removal.n; i++) {
		const struct lease *lease = lease_find(&world->leases, c->removal.ids[i]);

		c->finishes &= lease && lease->state == LEASE_RELEASING;
	}
	return !found.stays && found.need <= 0 && c->after;
}

static void fill_step(const struct planner *p, const struct candidate *c, const char *id, const char *why)
{
	const struct inv_parent *parent = c->space.parent;
	struct vgpu_ref vgpu = { .framework = c->card->framework };

	/* The ID of a VF is its own address, which the domain may not have named. */
	text_copy(vgpu.id, sizeof(vgpu.id), vgpu.framework == FW_MDEV ? id : parent->name);
	text_copy(vgpu.type, sizeof(vgpu.type), c->type);
	text_copy(vgpu.parent, sizeof(vgpu.parent), parent->name);
	text_copy(vgpu.pgpu, sizeof(vgpu.pgpu), c->card->address);
	plan_step(p, STEP_CREATE, &vgpu, why);
}

struct search {
	const char *id;
	struct candidate best;
	enum rule rule; /* the most important rule by which `best` won over another candidate */
	bool in_flight; /* whether a creation or release in progress can make capacity */
	bool later;     /* pGPUs were passed over, because their type is enabled after the chosen type */
	/* The best card on which removals make capacity, for the first type with such a card; card NULL: none. */
	struct candidate fullest;
};

/* False, with the reason: the card serves the type, but this VF is configured for another. */
static bool gives_vf(const struct inv_parent *vf, const char *type, struct capacity *space)
{
	const struct section *its = pool_section_of(vf);

	if (!its || !vf->card->pool.in_pool || !pool_serves(vf->card, type) || pool_gives(vf, type))
		return true;
	*space = (struct capacity){ .cause = CAUSE_OTHER_TYPE };
	snprintf(space->reason, sizeof(space->reason), "%s is configured for %s", vf->name, its->type);
	return false;
}

static bool find_capacity(const struct planner *p, struct candidate *c, const char *id)
{
	const char *type = c->type;
	const struct capacity_query query = plan_query(p, id);

	if (p->only && p->only->card != c->card)
		return false;
	if (plan_other_kind(p->world, c->card, p->resolved->req, c->space.reason)) {
		c->space.cause = (c->card->framework == FW_MDEV) != (p->resolved->req->kind == REQUEST_MDEV)
					 ? CAUSE_OTHER_KIND
					 : CAUSE_UNSUITED;
		return pool_serves(c->card, type);
	}
	if (!plan_type_means(p, c->card, type)) {
		c->space.cause = CAUSE_OTHER_TYPE;
		snprintf(c->space.reason, sizeof(c->space.reason), "%s is %s there", type,
			 inventory_type(&p->world->inv, c->card, type)->name);
		return pool_serves(c->card, type);
	}
	if (p->only && !gives_vf(p->only, type, &c->space))
		return true;
	capacity_on(&c->space, &query, c->card, type);
	if (c->space.has && p->only && c->space.parent != p->only) {
		c->space.has = false;
		c->space.cause = CAUSE_IN_USE;
		snprintf(c->space.reason, sizeof(c->space.reason), "this VF is not free");
	}
	c->failed = has_failed(p->world, c->card, type);
	return true;
}

static const char *why_chosen(const struct planner *p, const struct search *found)
{
	static const char *const words[NO_CHOICE][2] = {
		[BY_FAILURE] = { "the others failed a while ago", "the others failed a while ago" },
		[BY_NODE] = { "near the domain's CPUs or memory", "near the domain's CPUs or memory" },
		[BY_SHARE] = { "the fullest with capacity", "the emptiest" },
		[BY_SIZE] = { "the smallest with capacity", "the largest with capacity" },
		[BY_ADDRESS] = { "the first with capacity", "the first with capacity" },
	};

	if (found->best.last)
		return p->resolved->req->kind == REQUEST_PCI ? "the VF that the domain names" : "where it was before";
	if (found->rule < NO_CHOICE)
		return words[found->rule][placement_of(p) == PLACE_SPREAD];
	return found->later ? "the first type with capacity" : "the only one with capacity";
}

/* Searches the pGPUs for one type. The vGPU's previous parent wins if it has capacity and has not failed. */
static void search_for_type(struct planner *p, const char *type, struct search *found)
{
	const struct inventory *inv = &p->world->inv;
	struct candidate *best = &found->best, fullest = { 0 };

	for (size_t g = 0; g < inv->npgpus; g++) {
		enum rule by = NO_CHOICE;
		struct candidate c = { .card = inv->pgpus[g],
				       .type = type,
				       .near = is_near(p->resolved, inv->pgpus[g]) };

		if (!find_capacity(p, &c, found->id))
			continue;
		found->in_flight |= c.space.in_flight;
		if (c.space.has) {
			c.last = strcmp(c.space.parent->name, p->resolved->last_parent) == 0 && !c.failed;
			if (!best->card || (!best->last && (c.last || better(p, &c, best, &by))))
				*best = c;
			found->rule = by < found->rule ? by : found->rule;
			continue;
		}
		pass_over(p, &c);
		if (!c.space.full || c.space.cause == CAUSE_UNSUITED || !find_removes(p, &c))
			continue;
		if (!fullest.card || c.finishes > fullest.finishes ||
		    (c.finishes == fullest.finishes && better(p, &c, &fullest, &by)))
			fullest = c;
	}
	if (!found->fullest.card)
		found->fullest = fullest;
}

static void pass_over_type(const struct planner *p, const char *type, struct search *found)
{
	const struct inventory *inv = &p->world->inv;
	char why[REASON_SIZE];

	snprintf(why, sizeof(why), "provides %s, which is enabled after %s", type, found->best.type);
	for (size_t g = 0; g < inv->npgpus; g++) {
		if (!pool_serves(inv->pgpus[g], type) || pool_serves(inv->pgpus[g], found->best.type))
			continue;
		add_verdict(p, inv->pgpus[g], CAUSE_OTHER_TYPE, why, "");
		found->later = true;
	}
}

/* Are `a` and `b` one type of two models (T4-2Q, A40-2Q)? Then placement decides, not the order of the types. */
static bool is_alike(const struct world *world, const char *a, const char *b)
{
	const struct inv_type *x = inventory_type(&world->inv, NULL, a), *y = inventory_type(&world->inv, NULL, b);
	const char *of_x = x ? strrchr(x->name, '-') : NULL, *of_y = y ? strrchr(y->name, '-') : NULL;

	return of_x && of_y && strcmp(of_x, of_y) == 0 && x->framebuffer_mib == y->framebuffer_mib &&
	       x->slices == y->slices;
}

/* `id`: the first of `n` vGPUs that are removed for the step. */
static void explain_removal(const struct planner *p, const char *id, size_t n)
{
	const struct lease *lease = lease_find(&p->world->leases, id);
	char more[32] = "";

	if (n > 1)
		snprintf(more, sizeof(more), " and %zu more", n - 1);
	if (!lease)
		snprintf(p->step->why, sizeof(p->step->why), "once orphan %s%s is removed", id, more);
	else
		snprintf(p->step->why, sizeof(p->step->why), "after vGPU %s of domain %.64s%s is removed", id,
			 lease->name, more);
}

void plan_remove(const struct planner *p, const char *id)
{
	struct plan *plan = p->plan;

	if (plan->nremoves < PLAN_REMOVES_MAX && !text_find(plan->removes, plan->nremoves, ID_SIZE, id))
		text_copy(plan->removes[plan->nremoves++], ID_SIZE, id);
}

void plan_remove_first(const struct planner *p, const char *id)
{
	explain_removal(p, id, 1);
	if (p->world->mode != PLAN_ASSIGN)
		plan_remove(p, id);
}

enum plan_kind plan_choose(struct planner *p, const char *id)
{
	const struct resolved_request *resolved = p->resolved;
	struct search found = { .id = id, .rule = NO_CHOICE };
	/* The arriving state has the reserved type, so if that has capacity, do not search for similar types. */
	bool reserved = resolved->ntypes && strcmp(resolved->types[0], resolved->reserved) == 0;

	for (int t = 0; t < resolved->ntypes && !(reserved && found.best.card); t++)
		if (!found.best.card || is_alike(p->world, found.best.type, resolved->types[t]))
			search_for_type(p, resolved->types[t], &found);
		else
			pass_over_type(p, resolved->types[t], &found);
	if (found.best.card) {
		fill_step(p, &found.best, id, why_chosen(p, &found));
		return PLAN_STEPS;
	}
	add_missing_cards(p);
	/* Waiting for a release costs less than a removal, unless releases that can be finished now make capacity. */
	if (found.in_flight && !found.fullest.finishes)
		return PLAN_WAIT;
	if (!found.fullest.card || (resolved->req->kind == REQUEST_PCI && !plan_parent_suits(p, found.fullest.after)))
		return PLAN_REFUSE;
	p->removal = found.fullest.removal;
	found.fullest.space.parent = found.fullest.after;
	fill_step(p, &found.fullest, id, "");
	explain_removal(p, p->removal.n ? p->removal.ids[0] : found.fullest.shared, p->removal.n);
	return PLAN_REMOVE;
}
