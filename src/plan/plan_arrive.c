/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A domain that arrives, by migration or restore: which UUID it gets here.
 *
 * Here its UUID U may be: there, free and fitting (Nova makes its target's device beforehand): taken as it is. There
 * but held, open or of another type: a new one, or with migrate_uuid = keep a refusal. Not there: another free device
 * of the type, if reuse allows; else U, or a new one.
 */
#include <string.h>

#include "internal.h"
#include "plan/plan_text.h"

static bool leased(const struct planner *p, const char *id)
{
	return lease_find(p->facts->leases, id) != NULL;
}

static bool promised(const struct planner *p, const char *id)
{
	for (size_t i = 0; i < p->promised.n; i++)
		if (strcmp(p->promised.list[i].vgpu.id, id) == 0)
			return true;
	return false;
}

/* A foreign device of the pool that nobody has, names or wants. */
const struct inv_device *plan_free_device(const struct planner *p, size_t req)
{
	const struct inventory *inv = p->facts->inv;
	const struct resolved_request *resolved = &p->facts->resolved_requests[req];

	for (size_t i = 0; i < inv->ndevices; i++) {
		const struct inv_device *d = &inv->devices[i];
		const struct device_facts *f = &p->facts->devices[i];

		if (d->parent != UNKNOWN && plan_can_be(p->facts, d->parent, resolved->req) && resolved->ntypes > 0 &&
		    plan_type_fits(resolved, d->vgpu.type) && p->facts->pool &&
		    pool_has_parent(p->facts->pool, d->parent) && f->opened == OPEN_NO && !*f->named_by &&
		    !leased(p, d->vgpu.id) && !promised(p, d->vgpu.id) &&
		    !request_find(p->facts->request, d->vgpu.id) && !request_has_taken(p->facts->request, d->vgpu.id))
			return d;
	}
	return NULL;
}

/* U is there and cannot be had: why not. */
static bool refuse_taken(struct planner *p, size_t req, const struct inv_device *device, const struct lease *lease)
{
	const struct resolved_request *resolved = &p->facts->resolved_requests[req];
	char wished[1024];

	if (lease)
		return plan_refuse(p, req, REFUSE_OTHER,
				   "it belongs to domain %s here, and migrate_uuid = keep allows no other",
				   lease->name);
	if (!*device->vgpu.type)
		return plan_refuse(
			p, req, REFUSE_OTHER,
			"it is just being made or removed on %s here, and migrate_uuid = keep allows no other",
			device->vgpu.parent);
	plan_text_request(resolved, wished, sizeof(wished));
	if (!plan_type_fits(resolved, device->vgpu.type))
		return plan_refuse(p, req, REFUSE_OTHER,
				   "it exists here as %s on %s, not as %s, and migrate_uuid = keep allows no other",
				   device->vgpu.type, device->vgpu.parent, wished);
	return plan_refuse(p, req, REFUSE_OTHER, "%s here, and migrate_uuid = keep allows no other",
			   p->facts->devices[device - p->facts->inv->devices].opened == OPEN_YES
				   ? "a process has it open"
				   : "it cannot be told whether a process has it open");
}

bool plan_arrival(struct planner *p, size_t req, struct step *step)
{
	const struct plan_facts *facts = p->facts;
	const struct resolved_request *resolved = &facts->resolved_requests[req];
	const struct lease *lease = lease_find(facts->leases, resolved->req->id);
	const struct inv_device *device = inventory_device(facts->inv, resolved->req->id);
	enum migrate_uuid policy = facts->config ? facts->config->policy.migrate_uuid : MIGRATE_AUTO;
	bool others = lease && strcmp(lease->domain, facts->request->uuid) != 0;
	const struct inv_device *other;

	if (!plan_source_fits(p, req))
		return false;
	if (resolved->req->kind == REQUEST_PCI)
		return plan_vf_arrival(p, req, step);
	if (resolved->req->placeholder)
		return plan_creation(p, req, resolved->fresh, step);
	if (device && !others && facts->devices[device - facts->inv->devices].opened == OPEN_NO && *device->vgpu.type &&
	    plan_type_fits(resolved, device->vgpu.type)) {
		plan_adopt(p, device, step);
		return true;
	}
	if (device || others) {
		if (policy == MIGRATE_KEEP)
			return refuse_taken(p, req, device, others ? lease : NULL);
		return plan_creation(p, req, resolved->fresh, step);
	}
	if (policy == MIGRATE_AUTO && facts->config && facts->config->policy.reuse_free &&
	    (other = plan_free_device(p, req))) {
		plan_adopt(p, other, step);
		return true;
	}
	return plan_creation(p, req, policy == MIGRATE_FRESH ? resolved->fresh : resolved->req->id, step);
}
