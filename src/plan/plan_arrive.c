/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A domain that arrives, by migration or restore: which UUID it gets here.
 *
 * Here its UUID U may be: there, free and fitting (Nova makes its target's device beforehand): taken as it is. There
 * but held, open or of another type: a new one, or with migrate_uuid = keep a refusal. Not there: another free device
 * of the type, if reuse allows; else U, or a new one. Outside an arrival the policy of migrations has no say.
 */
#include <string.h>

#include "internal.h"
#include "plan/plan_text.h"

static bool leased(const struct planner *p, const char *id)
{
	return lease_find(&p->world->leases, id) != NULL;
}

static bool promised(const struct planner *p, const char *id)
{
	for (size_t i = 0; i < p->promised.n; i++)
		if (strcmp(p->promised.list[i].vgpu.id, id) == 0)
			return true;
	return false;
}

/* A foreign device of the pool that nobody has, names or requests; NULL where the policy does not allow it, too. */
static const struct inv_device *free_device(const struct planner *p, size_t req)
{
	const struct inventory *inv = &p->world->inv;
	const struct resolved_request *resolved = &p->world->resolved_requests[req];

	if (!p->world->config || !p->world->config->policy.reuse_free)
		return NULL;
	for (size_t i = 0; i < inv->ndevices; i++) {
		const struct inv_device *d = &inv->devices[i];
		const struct device_facts *f = &d->facts;

		if (d->parent && plan_can_be(p->world, d->parent, resolved->req) && resolved->ntypes > 0 &&
		    plan_device_fits(p->world, resolved, d) && pool_has_parent(d->parent) && f->opened == OPEN_NO &&
		    !*f->named_by && !leased(p, d->vgpu.id) && !promised(p, d->vgpu.id) &&
		    !request_names(p->world->request, d->vgpu.id) && !request_excludes(p->world->request, d->vgpu.id))
			return d;
	}
	return NULL;
}

/* Under migrate_uuid = keep it cannot be had: why not. */
static bool refuse_taken(struct planner *p, size_t req, const struct inv_device *device, const struct lease *lease)
{
	const struct resolved_request *resolved = &p->world->resolved_requests[req];
	bool vf = resolved->req->kind == REQUEST_PCI;
	char requested[1024];

	if (lease)
		return plan_refuse_device(
			p, req, "leased to domain %s here; migrate_uuid = keep does not allow another", lease->name);
	if (!device)
		return plan_refuse_device(p, req, "not in the pool here; migrate_uuid = keep does not allow another");
	if (vf)
		return plan_refuse_device(
			p, req,
			"its type here is %s, a different one, or it is in use; migrate_uuid = keep does not allow another",
			device->vgpu.type);
	if (!*device->vgpu.type)
		return plan_refuse_device(
			p, req, "being created or removed on %s here; migrate_uuid = keep does not allow another",
			device->vgpu.parent);
	plan_text_request(resolved, requested, sizeof(requested));
	if (!plan_device_fits(p->world, resolved, device))
		return plan_refuse_device(
			p, req, "exists here as %s on %s, not as %s; migrate_uuid = keep does not allow another",
			device->vgpu.type, device->vgpu.parent, requested);
	if (device->facts.opened == OPEN_YES)
		return plan_refuse_device(p, req, "held open by %s here; migrate_uuid = keep does not allow another",
					  plan_opener(&device->facts));
	return plan_refuse_device(
		p, req, "cannot tell whether a process holds it open here; migrate_uuid = keep does not allow another");
}

bool plan_arrival(struct planner *p, size_t req, struct step *step)
{
	const struct world *world = p->world;
	const struct resolved_request *resolved = &world->resolved_requests[req];
	const char *id = plan_named(resolved->req);
	const struct lease *lease = lease_find(&world->leases, id);
	const struct inv_device *device = inventory_device(&world->inv, id), *other;
	const struct inv_parent *parent = inventory_parent(&world->inv, id);
	bool vf = resolved->req->kind == REQUEST_PCI, keep = world->config && world->config->policy.migrate_keep, made;
	bool others = lease && strcmp(lease->domain, world->request->uuid) != 0;
	bool pooled = parent && world->config && pool_has_parent(parent);

	if (!plan_source_fits(p, req))
		return false;
	if (!vf && resolved->req->any)
		return plan_creation(p, req, resolved->fresh, step);
	if (vf && keep && pooled && !plan_vf_suits(p, req, parent))
		return false;
	if (device && !others && device->facts.opened == OPEN_NO && *device->vgpu.type &&
	    plan_device_fits(world, resolved, device) && plan_can_be(world, device->parent, resolved->req)) {
		plan_adopt(p, device, step);
		return true;
	}
	if (keep && (device || others || (vf && !pooled)))
		return refuse_taken(p, req, device, others ? lease : NULL);
	if (!device && !others && !keep && (other = free_device(p, req))) {
		plan_adopt(p, other, step);
		return true;
	}
	p->only = vf && keep ? parent : NULL;
	/* A VF's own lease does not count where it was; what another domain has leased under its address does. */
	made = plan_creation(p, req, device || others || !*id ? resolved->fresh : id, step);
	p->only = NULL;
	return made;
}

bool plan_assignment(struct planner *p, size_t req, struct step *step)
{
	const struct resolved_request *resolved = &p->world->resolved_requests[req];
	const struct inv_device *other;

	if (!resolved->req->any) {
		size_t nverdicts = p->plan->nverdicts;

		if (plan_vf_prepare(p, req, step)) {
			p->plan->kind = PLAN_STEPS;
			return true;
		}
		/* What cannot be told yet is not decided. */
		if (p->plan->kind != PLAN_REFUSE)
			return false;
		p->plan->kind = PLAN_STEPS;
		p->plan->nverdicts = nverdicts;
	}
	other = free_device(p, req);
	if (!other)
		return plan_creation(p, req, resolved->fresh, step);
	plan_adopt(p, other, step);
	return true;
}
