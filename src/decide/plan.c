/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Plans which vGPU a domain gets and on which parent. */
#include "decide/plan.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "internal.h"

__attribute__((format(printf, 2, 0))) static void refuse(struct planner *p, const char *fmt, va_list ap)
{
	p->plan->kind = PLAN_REFUSE;
	p->plan->refused = REFUSED_FOR_GOOD;
	p->plan->refused_vgpu = p->req;
	p->plan->why = 0;
	vsnprintf(p->plan->text, sizeof(p->plan->text), fmt, ap);
}

bool plan_refuse(struct planner *p, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	refuse(p, fmt, ap);
	va_end(ap);
	return false;
}

bool plan_refuse_unconfigured(struct planner *p, const char *what)
{
	plan_refuse(p, "%s: %s%s", what, p->world->config->why.text, config_fix(p->world->config));
	p->plan->refused = REFUSED_CONFIG;
	return false;
}

bool plan_in_use(struct planner *p)
{
	p->plan->refused = REFUSED_IN_USE;
	return false;
}

bool plan_refuse_device(struct planner *p, const char *fmt, ...)
{
	va_list ap;
	size_t n;

	va_start(ap, fmt);
	refuse(p, fmt, ap);
	va_end(ap);
	n = strlen(p->plan->text);
	if (p->resolved->req->kind == REQUEST_PCI &&
	    !plan_text_free_vfs(p, p->plan->text + n, sizeof(p->plan->text) - n))
		text_add(p->plan->text, sizeof(p->plan->text), "; no VF of the pool is free");
	return false;
}

bool plan_type_means(const struct planner *p, const struct inv_pgpu *card, const char *type)
{
	const struct resolved_request *resolved = p->resolved;
	const struct inv_type *t = inventory_type(&p->world->inv, card, type);
	const char *called = resolved->called;

	if (!*called && resolved->ntypes)
		called = plan_source_name(p);
	return !t || !*called || strcmp(t->name, t->id) == 0 || type_is_named(t->name, called);
}

bool plan_device_fits(const struct planner *p, const struct inv_device *device)
{
	return resolve_fits(p->resolved, device->vgpu.type) &&
	       plan_type_means(p, inventory_card_of(device), device->vgpu.type);
}

/* Was the vGPU on a ready card outside the pool? If so, other software creates it. */
static bool was_outside(const struct planner *p)
{
	const struct inv_parent *parent = inventory_parent(&p->world->inv, p->resolved->last_parent);

	return parent && parent->card->ready && !parent->card->pool.in_pool && parent->card->pool.claim == CLAIM_NONE;
}

/* If the request has no type or a remembered one, gives it the only type of its VF or, without a VF, of the pool. */
static void set_only_type(const struct planner *p)
{
	struct resolved_request *resolved = p->resolved;
	const struct inv_parent *vf = plan_own_vf(p);
	autofree const struct section **types = NULL;

	/* A remembered type may also be the pool's only type. The pool then counts as the source. */
	if (resolved->ntypes && resolved->source != TYPE_REMEMBERED)
		return;
	types = pool_types(&p->world->inv, resolved->req->kind == REQUEST_MDEV, vf);
	if (!types[0] || types[1] || !resolve_fits(resolved, types[0]->type))
		return;
	/* A card that was exchanged provides another type. */
	if (*resolved->was_card && strcmp(resolved->was, types[0]->type) != 0)
		return;
	/* A vGPU must not replace another driver's device (a crypto engine) or a device outside the pool. */
	if (*resolved->was && !*resolved->was_card &&
	    (!type_has_driver_of(resolved->was, types[0]->type) || was_outside(p)))
		return;
	text_copy(resolved->types[0], TYPE_SIZE, types[0]->type);
	resolved->ntypes = 1;
	resolved->source = vf ? TYPE_SERVED : TYPE_POOLED;
}

bool plan_step(const struct planner *p, enum step_kind kind, const struct vgpu_ref *vgpu, const char *why)
{
	const struct inv_pgpu *card = inventory_pgpu(&p->world->inv, vgpu->pgpu);
	const struct inv_type *t = inventory_type(&p->world->inv, card, vgpu->type);

	*p->step = (struct step){ .kind = kind,
				  .vgpu = *vgpu,
				  .numa = card ? card->numa : UNKNOWN,
				  .framebuffer_mib = t ? t->framebuffer_mib : UNKNOWN,
				  .section = card ? pool_serves(card, vgpu->type) : NULL };
	snprintf(p->step->why, sizeof(p->step->why), "%s", why);
	return true;
}

static void promise_step(struct planner *p)
{
	struct leases *leases = &p->world->leases;
	struct lease *l = lease_find(leases, p->step->vgpu.id);

	if (!l) {
		for (l = leases->list + leases->n++; l > leases->list && strcmp(l[-1].vgpu.id, p->step->vgpu.id) > 0;
		     l--)
			l[0] = l[-1];
	}
	*l = lease_for(p->world->request, &p->step->vgpu);
	l->state = LEASE_RESERVED;
	l->promised = true;
	l->framebuffer_mib = p->step->framebuffer_mib;
	l->numa = p->step->numa;
}

/* Nova rewrites the metadata at a hard reboot, without a type, which removes the conflict. */
const char *plan_change_type(const struct planner *p)
{
	return p->world->request->nova ? "hard-reboot the instance" : "change one of them";
}

/* Can a pGPU provide the type later? It must also suit the hostdev. */
static bool may_come(const struct planner *p)
{
	bool other_kind = false;

	for (EACH(const struct verdict *, v, p->plan->verdicts, p->plan->nverdicts)) {
		if (v->req == p->req && v->cause != CAUSE_OTHER_KIND && v->cause != CAUSE_OTHER_TYPE)
			return true;
		other_kind |= v->req == p->req && v->cause == CAUSE_OTHER_KIND;
	}
	return !other_kind;
}

static bool is_reserved_late(const struct planner *p)
{
	const struct world *world = p->world;
	const struct lease *lease = lease_find(&world->leases, p->step->vgpu.id);

	return world->mode != PLAN_ASSIGN && lease && strcmp(lease->domain, world->request->uuid) != 0;
}

/* Does this lease count in the quota for vGPU `id`? An arrival replaces its domain's older leases, so they do not. */
static bool counts(const struct planner *p, const struct lease *lease, const char *id)
{
	const struct request *request = p->world->request;

	return strcmp(lease->project, request->project) == 0 && strcmp(lease->vgpu.id, id) != 0 &&
	       (p->world->mode == PLAN_PREPARE || lease->promised || strcmp(lease->domain, request->uuid) != 0);
}

/*
 * Is vGPU `id` within the project's quota? Leases in every state count, except reclaimable ones; with `removes`, plans
 * the removal of these. If not, refuses, or waits for a release in progress.
 */
static bool is_within_quota(struct planner *p, const char *id, bool removes)
{
	const struct world *world = p->world;
	const char *project = world->request->project;
	int limit = config_quota(world->config, project), holds = 0, reclaimable = 0;
	bool in_flight = false;

	if (limit == NO_LIMIT)
		return true;
	for (EACH(const struct lease *, lease, world->leases.list, world->leases.n)) {
		if (!counts(p, lease, id))
			continue;
		holds++;
		reclaimable += plan_may_remove(world, lease->vgpu.id);
		in_flight |= lease->at_work && !lease->hangs;
	}
	if (holds >= limit && (limit == 0 || holds - limit >= reclaimable)) {
		plan_refuse(p, "quota of %s%s exhausted: %d of %d ([quota]%s)",
			    *project ? "project " : "domains without a project", project, holds, limit,
			    *project ? "" : " none");
		p->plan->refused = REFUSED_QUOTA;
		if (in_flight)
			p->plan->kind = PLAN_WAIT;
		return false;
	}
	/* An arrival leaves the removals to the prepare that follows. */
	for (size_t i = 0; removes && world->mode == PLAN_PREPARE && holds >= limit; i++) {
		const struct lease *lease = &world->leases.list[i];

		if (!counts(p, lease, id) || !plan_may_remove(world, lease->vgpu.id))
			continue;
		holds--;
		plan_remove(p, lease->vgpu.id);
	}
	return true;
}

bool plan_creation(struct planner *p, const char *id)
{
	enum plan_kind kind;

	if (!config_is_valid(p->world->config))
		return plan_refuse_unconfigured(p, "does not exist and cannot be created");
	if (p->resolved->ntypes == 0)
		return plan_refuse_untyped(p);
	if (!is_within_quota(p, id, false))
		return false;
	kind = plan_choose(p, id);
	/* A prepare follows an arrival and does the removals. */
	if (kind == PLAN_REMOVE && (p->world->mode == PLAN_PREPARE || is_reserved_late(p)))
		for (size_t i = 0; i < p->removal.n; i++)
			plan_remove(p, p->removal.ids[i]);
	if (kind == PLAN_STEPS || kind == PLAN_REMOVE)
		return true;
	p->plan->kind = kind;
	p->plan->refused = may_come(p) ? REFUSED_CAPACITY : REFUSED_FOR_GOOD;
	p->plan->refused_vgpu = p->req;
	plan_text_no_capacity(p);
	return false;
}

bool plan_existing(struct planner *p, const struct inv_device *device, const struct lease *own)
{
	const struct resolved_request *resolved = p->resolved;

	if (resolved->source == TYPE_ASKED && !plan_device_fits(p, device))
		return plan_refuse_device(p, "exists as %s on %s, but the domain's metadata asks for %s; %s",
					  device->vgpu.type, device->vgpu.parent, resolved->req->facts.type,
					  plan_change_type(p));
	if (own)
		return plan_step(p, STEP_KEEP, &device->vgpu, "the domain's already");
	plan_step(p, STEP_ADOPT, &device->vgpu, "it exists");
	if (device->facts.opened != OPEN_YES)
		return true;
	plan_refuse_device(p, "exists on %s and is held open by %s (troubleshooting: held-open-by-a-process)",
			   device->vgpu.parent, device->facts.by);
	return plan_in_use(p);
}

bool plan_wait_for_kernel(struct planner *p, const char *parent, const struct lease *lease)
{
	plan_refuse(p, "still being created or removed on %s; see dmesg, and try again once that has ended", parent);
	if (!lease || !lease->hangs)
		p->plan->kind = PLAN_WAIT;
	return false;
}

bool plan_finish_release(struct planner *p, const struct lease *lease)
{
	const struct resolved_request *resolved = p->resolved;
	struct vgpu_ref next = lease->vgpu;
	bool chosen = false, fits;

	if (!lease->reclaimable || capacity_failed_attempt(p->world, lease->vgpu.pgpu, lease->vgpu.type))
		return false;
	fits = !resolved->ntypes || resolve_fits(resolved, next.type);
	if (lease->keeps && p->world->mode != PLAN_PREPARE && !fits)
		return false;
	if (!fits && !lease->keeps) {
		text_copy(next.type, sizeof(next.type), resolved->types[0]);
		chosen = plan_choose(p, next.id) == PLAN_STEPS;
	}
	if (!chosen)
		plan_step(p, lease->keeps ? STEP_ADOPT : STEP_CREATE, &next, "");
	plan_remove_first(p, lease->vgpu.id);
	return true;
}

/* Did the hook create this vGPU with another type than the domain now asks for? */
static bool is_outdated(const struct planner *p, const struct lease *lease, const struct inv_device *device)
{
	return device && lease->origin == LEASE_CREATED && p->resolved->source == TYPE_ASKED &&
	       !plan_device_fits(p, device);
}

/* Is a creation or removal of the domain's own device in progress, or just ended? */
static bool is_unfinished(const struct lease *lease)
{
	return lease->vgpu.framework != FW_VF &&
	       (lease->state == LEASE_CREATING || (lease->state == LEASE_RELEASING && lease->at_work));
}

bool plan_start(struct planner *p, const char *id)
{
	const struct world *world = p->world;
	bool pci = p->resolved->req->kind == REQUEST_PCI;
	const struct lease *lease = lease_find(&world->leases, id);
	const struct inv_device *device = inventory_device(&world->inv, id);
	const struct inv_parent *vf = pci ? inventory_parent(&world->inv, id) : NULL;
	char instance[101]; /* may cut the name */

	if (lease && strcmp(lease->domain, world->request->uuid) != 0) {
		text_cut(instance, sizeof(instance), lease->instance);
		plan_refuse_device(p, "already leased to domain %s (%s%s%s)%s", lease->name, instance,
				   *instance ? ", " : "", lease->domain,
				   pci                    ? ""
				   : world->request->nova ? "; " PLAN_NOVA_ANOTHER
							  : "; use a different UUID");
		return plan_in_use(p);
	}
	if (pci && !plan_vf_suits(p, vf, device))
		return false;
	/* A device without a type is being created or removed by another program or hook. */
	if (device ? !*device->vgpu.type : lease && is_unfinished(lease))
		return plan_wait_for_kernel(p, device ? device->vgpu.parent : lease->vgpu.parent, lease);
	if (lease && lease->vgpu.framework == FW_VF && lease->state != LEASE_RESERVED &&
	    resolve_fits(p->resolved, lease->vgpu.type))
		return plan_step(p, STEP_KEEP, &lease->vgpu, "the domain's already");
	if (pci && !plan_vf_permits(p, vf, device))
		return false;
	if (device)
		return pci ? plan_vf_typed(p, device, lease) : plan_existing(p, device, lease);
	p->only = vf;
	return plan_creation(p, id);
}

static bool prepare_request(struct planner *p)
{
	const struct vgpu_request *w = p->resolved->req;
	const char *id = w->any ? p->resolved->fresh : w->id;
	const struct lease *lease = lease_find(&p->world->leases, id);
	const struct inv_device *device = inventory_device(&p->world->inv, id);
	bool goes = lease && (strcmp(lease->domain, p->world->request->uuid) != 0 || is_outdated(p, lease, device));

	if (goes && lease->at_work && lease->state == LEASE_RELEASING)
		return plan_wait_for_kernel(p, lease->vgpu.parent, lease);
	/* The release keeps the device as it is, so the device must suit the request. */
	if (goes && lease->reclaimable && lease->keeps && device && !plan_existing(p, device, NULL))
		return false;
	return (goes && plan_finish_release(p, lease)) || plan_start(p, id);
}

static bool plan_request(struct planner *p)
{
	if (p->world->mode == PLAN_PREPARE)
		return prepare_request(p);
	return p->world->mode == PLAN_ASSIGN ? plan_assignment(p) : plan_arrival(p);
}

/* libvirt accepts no other UUID at a start. The steps remain, to show what the domain would get with a new UUID. */
static void refuse_placeholder(struct planner *p)
{
	const struct request *request = p->world->request;

	if (p->world->mode != PLAN_PREPARE)
		return;
	for (p->req = 0; p->req < request->nvgpus && !request->vgpus[p->req].any;)
		p->req++;
	if (p->req < request->nvgpus)
		plan_refuse(
			p,
			"a placeholder, and libvirt accepts no new UUID at a start; run 'vgpu-lease rewrite %s' to assign one",
			text_operand(request->name, request->uuid));
}

static enum owner owner_when_created(const struct planner *p)
{
	const struct vgpu_ref *vgpu = &p->step->vgpu;

	return owner_of(&(struct owner_facts){ .framework = vgpu->framework,
					       .created = true,
					       .defined = p->resolved->defined &&
							  strcmp(p->resolved->req->id, vgpu->id) == 0 &&
							  strcmp(p->resolved->last_parent, vgpu->parent) == 0,
					       .nova = p->world->request->nova });
}

static bool add_step(struct planner *p)
{
	p->narrowed = p->world->resolved_requests[p->req];
	p->resolved = &p->narrowed;
	p->only = NULL;
	p->step = &p->plan->steps[p->req];
	plan_source_narrow(p);
	if (p->resolved->req->kind == REQUEST_PCI)
		text_copy(p->resolved->last_parent, PARENT_SIZE, plan_named(p->resolved->req));
	set_only_type(p);
	if (!plan_request(p))
		return false;
	/* libvirt would unbind the driver of the pGPU, and with it remove the vGPU. */
	if (request_excludes(p->world->request, p->step->vgpu.pgpu))
		return plan_refuse(p, "its pGPU, %s, is a hostdev of the domain; remove one of the two hostdevs",
				   p->step->vgpu.pgpu);
	p->step->owner = owner_when_created(p);
	/* A vGPU that the domain keeps was checked when the domain got it. */
	if (p->step->kind != STEP_KEEP && !is_within_quota(p, p->step->vgpu.id, true))
		return false;
	promise_step(p);
	p->plan->nsteps++;
	return true;
}

void plan_make(struct plan *plan, const struct world *world)
{
	struct world own = *world;
	struct planner p = { .world = &own, .plan = plan };
	size_t nvgpus = world->request->nvgpus;

	*plan = (struct plan){ .kind = PLAN_STEPS, .steps = mem_new(nvgpus + 1, sizeof(*plan->steps)) };
	own.leases.list = mem_new(world->leases.n + nvgpus + 1, sizeof(*own.leases.list));
	for (size_t i = 0; i < world->leases.n; i++)
		own.leases.list[i] = world->leases.list[i];
	while (p.req < nvgpus && add_step(&p))
		p.req++;
	if (plan->kind != PLAN_STEPS)
		plan->nremoves = 0;
	else if (plan->nremoves)
		plan->kind = PLAN_REMOVE;
	refuse_placeholder(&p);
	free(own.leases.list);
}

void plan_free(struct plan *plan)
{
	free(plan->steps);
	free(plan->verdicts);
	*plan = (struct plan){ 0 };
}
