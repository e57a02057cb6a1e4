/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The decision: which vGPU a domain gets, on which parent; or why it gets none. */
#include "plan/plan.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "internal.h"
#include "plan/plan_text.h"

static void refuse(struct planner *p, size_t req, const char *fmt, va_list ap)
{
	p->plan->kind = PLAN_REFUSE;
	p->plan->no_capacity = p->plan->no_quota = p->plan->no_config = false;
	p->plan->refused_vgpu = req;
	p->plan->why = 0;
	vsnprintf(p->plan->text, sizeof(p->plan->text), fmt, ap);
}

bool plan_refuse(struct planner *p, size_t req, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	refuse(p, req, fmt, ap);
	va_end(ap);
	return false;
}

bool plan_refuse_unconfigured(struct planner *p, size_t req, const char *what)
{
	plan_refuse(p, req, "%s: %s", what, p->world->why_no_config);
	p->plan->no_config = true;
	return false;
}

bool plan_refuse_device(struct planner *p, size_t req, const char *fmt, ...)
{
	va_list ap;
	size_t n;

	va_start(ap, fmt);
	refuse(p, req, fmt, ap);
	va_end(ap);
	n = strlen(p->plan->text);
	if (p->world->resolved_requests[req].req->kind == REQUEST_PCI &&
	    !plan_text_free_vfs(p->world, &p->promised, req, p->plan->text + n, sizeof(p->plan->text) - n))
		text_add(p->plan->text, sizeof(p->plan->text), "; no VF of the pool is free");
	return false;
}

const char *plan_named(const struct vgpu_request *req)
{
	return req->any ? "" : req->id;
}

bool plan_type_fits(const struct resolved_request *resolved, const char *type)
{
	for (int i = 0; i < resolved->ntypes; i++)
		if (strcmp(resolved->types[i], type) == 0)
			return true;
	return resolved->ntypes == 0;
}

bool plan_type_means(const struct world *world, const struct resolved_request *resolved, const struct inv_pgpu *card,
		     const char *type)
{
	const struct inv_type *t = inventory_type_on(&world->inv, card, type);
	const char *source = world->mode == PLAN_MIGRATE && resolved->ntypes &&
					     !plan_driver_differs(world, resolved->req)
				     ? resolved->req->facts.name
				     : "";
	const char *called = *resolved->called ? resolved->called : source;

	return !t || !*called || strcmp(t->name, t->id) == 0 || type_is_named(t->name, called);
}

bool plan_device_fits(const struct world *world, const struct resolved_request *resolved,
		      const struct inv_device *device)
{
	return plan_type_fits(resolved, device->vgpu.type) &&
	       plan_type_means(world, resolved, inventory_card_of(device), device->vgpu.type);
}

void plan_only_type(const struct world *world, struct resolved_request *resolved, const struct inv_parent *vf)
{
	const struct section *only;

	/* A type that is remembered, and is the only one, is that. */
	if (!world->config || (resolved->ntypes && resolved->source != TYPE_REMEMBERED) ||
	    pool_types(&world->inv, resolved->req->kind == REQUEST_MDEV, vf, &only) != 1 ||
	    !plan_type_fits(resolved, only->type))
		return;
	snprintf(resolved->types[0], TYPE_SIZE, "%s", only->type);
	resolved->ntypes = 1;
	resolved->source = vf ? TYPE_SERVED : TYPE_POOLED;
}

void plan_adopt(const struct planner *p, const struct inv_device *device, struct step *step)
{
	const struct inv_type *t = inventory_type_of(&p->world->inv, &device->vgpu);
	const struct inv_pgpu *card = inventory_card_of(device);

	*step = (struct step){ .kind = STEP_ADOPT,
			       .vgpu = device->vgpu,
			       .numa = card ? card->numa : UNKNOWN,
			       .framebuffer_mib = t ? t->framebuffer_mib : UNKNOWN };
	snprintf(step->why, sizeof(step->why), "it exists");
	if (card && p->world->config)
		step->section = pool_serves(&p->world->inv, card, device->vgpu.type);
}

/* The later requests of this plan see what this one takes, in the place of what the domain had reserved for it. */
static void promise(struct planner *p, const struct step *step)
{
	struct lease *l = &p->promised.list[p->promised.n++], *had = lease_find(&p->world->leases, step->vgpu.id);
	struct leases *held = &p->world->leases;

	if (had) {
		held->n--;
		memmove(had, had + 1, (size_t)(held->list + held->n - had) * sizeof(*had));
	}
	*l = (struct lease){ .vgpu = step->vgpu,
			     .state = LEASE_RESERVED,
			     .framebuffer_mib = step->framebuffer_mib,
			     .numa = step->numa };
	memcpy(l->domain, p->world->request->uuid, sizeof(l->domain));
	snprintf(l->project, sizeof(l->project), "%s", p->world->request->project);
}

/* A hard reboot has Nova write the metadata anew, without what asks for a type. */
const char *plan_change_type(const struct planner *p)
{
	return p->world->request->nova ? "hard-reboot the instance" : "change one of them";
}

/* The type that is remembered is not enabled any more, and of several others none is named. */
static bool refuse_disabled(struct planner *p, size_t req, const char *list)
{
	const struct resolved_request *resolved = &p->world->resolved_requests[req];

	if (p->world->request->nova)
		return plan_refuse(
			p, req,
			"does not exist, and its type, %s, is no longer enabled (enabled: %s); enable it again, "
			"or " PLAN_NOVA_ANOTHER,
			resolved->was, list);
	return plan_refuse(
		p, req,
		"does not exist, and the type of its last lease, %s (/var/lib/vgpu-lease/affinity/%s), is no "
		"longer enabled; enable it again, or name one of %s in the metadata",
		resolved->was, resolved->req->id, list);
}

/* It does not exist, and nothing says which type it is to be of. */
static bool refuse_untyped(struct planner *p, size_t req)
{
	const struct world *world = p->world;
	const struct vgpu_request *w = world->resolved_requests[req].req;
	bool served = false;
	char list[1024];

	plan_text_types(world, w->kind, list, sizeof(list));
	/* A card of the pool without VFs provides none of its types now. */
	if (!*list && world->config->nsections && *world->resolved_requests[req].absent)
		return plan_refuse(p, req, "no such VF in the pool: %s", world->resolved_requests[req].absent);
	if (!*list)
		return plan_refuse(
			p, req,
			"does not exist, and no type is enabled for this kind of hostdev; set enabled_mdev_types in [devices]");
	for (size_t i = 0; i < world->config->nsections && !served; i++)
		served = pool_stock(&world->inv, &world->config->sections[i], w->kind == REQUEST_MDEV, NULL) !=
			 STOCK_NONE;
	if (!served)
		return plan_refuse(
			p, req,
			"does not exist, and no pGPU of this host is configured for an enabled type (%s); see 'vgpu-lease check'",
			list);
	if (*world->resolved_requests[req].was)
		return refuse_disabled(p, req, list);
	if (world->request->nova)
		return plan_refuse(p, req, "does not exist, and its type (%s) is not known; " PLAN_NOVA_ANOTHER, list);
	return plan_refuse(p, req, "does not exist, and its type is not known; name one of %s in the metadata", list);
}

bool plan_creation(struct planner *p, size_t req, const char *id, struct step *step)
{
	const struct resolved_request *resolved = &p->world->resolved_requests[req];

	if (!p->world->config)
		return plan_refuse_unconfigured(p, req, "does not exist and cannot be created");
	if (resolved->ntypes == 0)
		return refuse_untyped(p, req);
	/* Before capacity is waited for, or looked for. */
	if (!plan_quota(p, req, id))
		return false;
	switch (plan_choose(p, req, id, step)) {
	case CHOSEN:
		return true;
	case CHOSEN_AFTER_REMOVAL:
		/* An arrival counts on the capacity; the prepare that follows makes it. */
		if (p->world->mode != PLAN_PREPARE)
			return true;
		p->plan->kind = PLAN_REMOVE;
		return true;
	case NO_CAPACITY_YET:
		p->plan->kind = PLAN_WAIT;
		break;
	case NO_CAPACITY:
		p->plan->kind = p->world->reclaimable_known ? PLAN_REFUSE : PLAN_LOOK;
		break;
	}
	p->plan->no_capacity = true;
	p->plan->refused_vgpu = req;
	p->plan->why = plan_text_no_capacity(p->plan, p->world, &p->promised, req, p->plan->text,
					     sizeof(p->plan->text));
	return false;
}

bool plan_existing(struct planner *p, size_t req, const struct inv_device *device, const struct lease *own,
		   struct step *step)
{
	const struct resolved_request *resolved = &p->world->resolved_requests[req];

	if (resolved->source == TYPE_ASKED && !plan_device_fits(p->world, resolved, device))
		return plan_refuse(p, req, "exists as %s on %s, but the domain's metadata asks for %s; %s",
				   device->vgpu.type, device->vgpu.parent, resolved->req->facts.type,
				   plan_change_type(p));
	plan_adopt(p, device, step);
	if (own) {
		step->kind = STEP_KEEP;
		snprintf(step->why, sizeof(step->why), "the domain's already");
		return true;
	}
	if (device->facts.opened == OPEN_YES)
		return plan_refuse(p, req,
				   "exists on %s and is held open by %s (troubleshooting: held-open-by-a-process)",
				   device->vgpu.parent, plan_opener(&device->facts));
	return true;
}

const char *plan_opener(const struct device_facts *facts)
{
	return *facts->by ? facts->by : "a process";
}

/* Its creation or removal goes on. */
bool plan_wait_for_kernel(struct planner *p, size_t req, const char *parent)
{
	plan_refuse(p, req, "still being created or removed on %s; see dmesg, and try again once that has ended",
		    parent);
	p->plan->kind = PLAN_WAIT;
	return false;
}

static bool prepare_request(struct planner *p, size_t req, struct step *step)
{
	const struct vgpu_request *w = p->world->resolved_requests[req].req;
	const char *id = w->any ? p->world->resolved_requests[req].fresh : w->id;
	const struct lease *lease = lease_find(&p->world->leases, id);
	const struct inv_device *device = inventory_device(&p->world->inv, id);
	char holder[HOLDER_SIZE];

	if (w->kind == REQUEST_PCI)
		return plan_vf_prepare(p, req, step);
	if (lease && lease->at_work && lease->state == LEASE_RELEASING &&
	    strcmp(lease->domain, p->world->request->uuid) != 0)
		return plan_wait_for_kernel(p, req, lease->vgpu.parent);
	if (lease && strcmp(lease->domain, p->world->request->uuid) != 0)
		return plan_refuse(p, req, "already leased to domain %s (%s); %s", lease->name,
				   lease_holder(holder, lease),
				   p->world->request->nova ? PLAN_NOVA_ANOTHER : "use a different UUID");
	/* For a start whose hook was killed, or for somebody else: the kernel has one of a UUID only. */
	if (device && !*device->vgpu.type)
		return plan_wait_for_kernel(p, req, device->vgpu.parent);
	if (device)
		return plan_existing(p, req, device, lease, step);
	if (lease && (lease->state == LEASE_CREATING || (lease->state == LEASE_RELEASING && lease->at_work)))
		return plan_wait_for_kernel(p, req, lease->vgpu.parent);
	return plan_creation(p, req, id, step);
}

static bool plan_request(struct planner *p, size_t req, struct step *step)
{
	switch (p->world->mode) {
	case PLAN_PREPARE:
		return prepare_request(p, req, step);
	case PLAN_ASSIGN:
		return plan_assignment(p, req, step);
	case PLAN_MIGRATE:
	case PLAN_RESTORE:
		break;
	}
	return plan_arrival(p, req, step);
}

/*
 * libvirt has read the XML, and takes no other UUID, when a start is asked about: one without a UUID of its own is
 * refused, whatever else holds. The steps are what it would get with one.
 */
static void refuse_placeholder(struct planner *p)
{
	/* Orphans that have to go for it have not been looked for. */
	if (p->plan->kind == PLAN_LOOK)
		return;
	for (size_t i = 0; p->world->mode == PLAN_PREPARE && i < p->world->request->nvgpus; i++) {
		if (!p->world->request->vgpus[i].any)
			continue;
		plan_refuse(
			p, i,
			"a placeholder, and libvirt accepts no new UUID at a start; run 'vgpu-lease rewrite %.100s' to assign one",
			p->world->request->name);
		return;
	}
}

static enum owner owner_when_created(const struct resolved_request *resolved, const struct request *request,
				     const struct vgpu_ref *vgpu)
{
	/* A definition is of the UUID that the domain names, not of another that it gets. */
	return owner_of(&(struct owner_facts){ .framework = vgpu->framework,
					       .created = true,
					       .defined = resolved->defined && strcmp(resolved->req->id, vgpu->id) == 0,
					       .nova = request->nova });
}

void plan_make(struct plan *plan, const struct world *world)
{
	struct world narrowed = *world;
	struct planner p = { .world = &narrowed, .plan = plan };
	size_t nvgpus = world->request->nvgpus;
	struct resolved_request *resolved_requests = mem_new(nvgpus + 1, sizeof(*resolved_requests));
	bool going = true;

	*plan = (struct plan){ .kind = PLAN_STEPS };
	plan->steps = mem_new(nvgpus + 1, sizeof(*plan->steps));
	p.promised.list = mem_new(nvgpus + 1, sizeof(*p.promised.list));
	narrowed.resolved_requests = resolved_requests;
	narrowed.leases.list = mem_new(world->leases.n + 1, sizeof(*narrowed.leases.list));
	for (size_t i = 0; i < world->leases.n; i++)
		narrowed.leases.list[i] = world->leases.list[i];
	for (size_t i = 0; i < nvgpus; i++) {
		resolved_requests[i] = world->resolved_requests[i];
		if (resolved_requests[i].req->kind == REQUEST_MDEV)
			plan_only_type(world, &resolved_requests[i], NULL);
		plan_source_narrow(world, &resolved_requests[i]);
		plan_vf_request(world, &resolved_requests[i]);
	}
	for (size_t i = 0; i < nvgpus && going; i++) {
		struct step *step = &plan->steps[i];

		going = plan_request(&p, i, step);
		step->owner = owner_when_created(&resolved_requests[i], world->request, &step->vgpu);
		/* What the domain keeps was counted when it came. */
		if (!going || (step->kind != STEP_KEEP && !plan_quota(&p, i, step->vgpu.id)))
			break;
		plan_quota_removes(&p, step);
		promise(&p, step);
		plan->nsteps++;
		/* What has to be removed for one request is removed before the next one is looked at. */
		going = plan->kind == PLAN_STEPS;
	}
	if (plan->kind != PLAN_REMOVE)
		plan->nremoves = 0;
	refuse_placeholder(&p);
	free(p.promised.list);
	free(narrowed.leases.list);
	free(resolved_requests);
}

void plan_free(struct plan *plan)
{
	free(plan->steps);
	free(plan->verdicts);
	*plan = (struct plan){ 0 };
}
