/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Plans an arriving domain (migration or restore): do its vGPUs fit this host, and which UUIDs do they get?
 *
 * If a device with the vGPU's UUID exists, is free and fits, the domain gets it, because Nova creates this device in
 * advance. If the device is leased, open or of another type, the domain gets a new device with a new UUID or, without
 * capacity, another free device (with `reuse`); with migrate_uuid = keep, it is refused. If no such device exists, the
 * domain gets another free device (with `reuse`), or a new device with the vGPU's UUID. A placeholder always gets a new
 * device with a new UUID.
 *
 * A vGPU's state can move only between vGPUs of one type and drivers of one version. If these differ, QEMU fails late,
 * with a vague error (Red Hat: "vGPU live migration fails if the vGPU driver version differs"). A fact that the source
 * omits is not checked. A restore must not be refused, and its image is from this host, so it only warns if the driver
 * was updated since then.
 */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "internal.h"

static bool driver_differs(const struct planner *p)
{
	const char *source = p->resolved->req->facts.driver, *here = p->world->inv.nvidia_driver;

	return *source && *here && strcmp(source, here) != 0;
}

const char *plan_source_name(const struct planner *p)
{
	const struct migration_facts *facts = &p->resolved->req->facts;

	/* A source that does not know the name can give the ID in its place. */
	return p->world->mode == PLAN_MIGRATE && !driver_differs(p) && strcmp(facts->name, facts->type) != 0
		       ? facts->name
		       : "";
}

/* Does this host have a type with this ID, but no type with this ID and the source's name? */
static bool name_differs(const struct planner *p, const char *type)
{
	const struct world *world = p->world;
	const char *source = plan_source_name(p);
	bool named = false, known = false;

	if (!*source)
		return false;
	for (size_t i = 0; i < world->inv.ntypes && !named; i++) {
		if (strcmp(world->inv.types[i]->id, type) != 0)
			continue;
		known = true;
		named = strcmp(world->inv.types[i]->name, source) == 0;
	}
	return known && !named;
}

void plan_source_narrow(const struct planner *p)
{
	struct resolved_request *resolved = p->resolved;
	int kept = 0;

	for (int i = 0; i < resolved->ntypes; i++) {
		if (name_differs(p, resolved->types[i]))
			continue;
		if (kept != i)
			memcpy(resolved->types[kept], resolved->types[i], TYPE_SIZE);
		kept++;
	}
	/* An empty list would allow any type. */
	if (kept)
		resolved->ntypes = kept;
}

static bool source_fits(struct planner *p)
{
	const struct world *world = p->world;
	const struct resolved_request *resolved = p->resolved;
	const struct migration_facts *source = &resolved->req->facts;
	bool differs = driver_differs(p), saved = world->mode == PLAN_RESTORE;

	if (differs && !saved && !world->config->policy.mismatch_warns)
		return plan_refuse(
			p,
			"driver version %s on the source, %s here; use one version on both hosts, or set driver_mismatch = warn",
			source->driver, world->inv.nvidia_driver);
	if (differs)
		snprintf(p->plan->warning, sizeof(p->plan->warning), "vGPU %s: driver version %s %s, %s here",
			 resolved->req->id, source->driver, saved ? "when it was saved" : "on the source",
			 world->inv.nvidia_driver);
	if (resolved->ntypes && name_differs(p, resolved->types[0]))
		return plan_refuse(
			p, "%s%s%s on the source, but %s is %s here; a migration needs the same type on both hosts",
			source->name, *source->model ? " of " : "", source->model, resolved->types[0],
			inventory_type(&world->inv, NULL, resolved->types[0])->name);
	return true;
}

static bool adopt(const struct planner *p, const struct inv_device *device)
{
	return plan_step(p, STEP_ADOPT, &device->vgpu, "it exists");
}

/* Adopts a free device of the pool that fits. False: there is none, or reuse = never. */
static bool adopt_free(const struct planner *p)
{
	const struct world *world = p->world;

	if (!config_is_valid(world->config) || !world->config->policy.reuse_free || p->resolved->ntypes == 0)
		return false;
	for (EACH(const struct inv_device *, d, world->inv.devices, world->inv.ndevices))
		if (d->parent && plan_parent_suits(p, d->parent) && plan_device_fits(p, d) &&
		    pool_has_parent(d->parent) && d->facts.opened == OPEN_NO && !d->facts.is_named &&
		    /* Nova also assigns devices that a deployment has just created for it. */
		    (!d->facts.young || world->config->policy.nova) && !lease_find(&world->leases, d->vgpu.id) &&
		    !request_names(world->request, d->vgpu.id) && !request_excludes(world->request, d->vgpu.id))
			return adopt(p, d);
	return false;
}

/* The pool's only type does not decide, because the operator may have created the device. */
static bool has_right_type(const struct planner *p, const struct inv_device *device)
{
	enum type_source source = p->resolved->source;
	/* A restore is on the host that saved the image. */
	bool decides = source == TYPE_ASKED || (source == TYPE_REMEMBERED && p->world->mode == PLAN_RESTORE);

	return decides || p->resolved->req->kind == REQUEST_PCI
		       ? plan_device_fits(p, device)
		       : plan_type_means(p, inventory_card_of(device), device->vgpu.type);
}

static bool refuse_taken(struct planner *p, const struct inv_device *device, const struct lease *lease)
{
	const struct resolved_request *resolved = p->resolved;
	bool vf = resolved->req->kind == REQUEST_PCI;
	const char *kept = p->world->config->policy.migrate_keep ? "migrate_uuid = keep does not allow another"
								 : "Nova has assigned this one";
	char requested[1024];

	if (lease)
		return plan_refuse_device(p, "leased to domain %s here; %s", lease->name, kept);
	if (!device)
		return plan_refuse_device(p, "not in the pool here; %s", kept);
	if (vf)
		return plan_refuse_device(p, "its type here is %s, a different one, or it is in use; %s",
					  device->vgpu.type, kept);
	if (!*device->vgpu.type)
		return plan_refuse_device(p, "being created or removed on %s here; %s", device->vgpu.parent, kept);
	plan_text_request(resolved, requested, sizeof(requested));
	if (!has_right_type(p, device))
		return plan_refuse_device(p, "exists here as %s on %s, not as %s; %s", device->vgpu.type,
					  device->vgpu.parent, requested, kept);
	if (device->facts.opened == OPEN_YES)
		return plan_refuse_device(p, "held open by %s here; %s", device->facts.by, kept);
	return plan_refuse_device(p, "cannot tell whether a process holds it open here; %s", kept);
}

bool plan_arrival(struct planner *p)
{
	const struct world *world = p->world;
	const struct resolved_request *resolved = p->resolved;
	const char *id = plan_named(resolved->req);
	const struct lease *lease = lease_find(&world->leases, id);
	const struct inv_device *device = inventory_device(&world->inv, id);
	const struct inv_parent *parent = inventory_parent(&world->inv, id);
	bool vf = resolved->req->kind == REQUEST_PCI;
	bool others = lease && strcmp(lease->domain, world->request->uuid) != 0, taken = device || others;
	bool pooled = parent && pool_has_parent(parent);
	/* Nova assigns VFs by address. */
	bool keep = world->config->policy.migrate_keep || (vf && pooled && world->request->nova);
	bool fits = device && !others && device->facts.opened == OPEN_NO && *device->vgpu.type &&
		    has_right_type(p, device) && plan_parent_suits(p, device->parent);
	/* Another domain that names the VF could not start. A restored domain is of this host, and names it too. */
	bool leave = vf && !keep && world->mode == PLAN_MIGRATE &&
		     (device ? device->facts.is_named : pooled && parent->facts.is_named);

	if (!source_fits(p))
		return false;
	if (!vf && resolved->req->any)
		return plan_creation(p, resolved->fresh);
	if (vf && keep && pooled && !plan_vf_suits(p, parent, device))
		return false;
	if (fits && !leave)
		return adopt(p, device);
	if (leave)
		p->resolved->last_parent[0] = '\0';
	if (keep && others && lease->at_work && lease->state == LEASE_RELEASING)
		return plan_wait_for_kernel(p, lease->vgpu.parent, lease);
	if (keep && others && (!vf || resolved->ntypes) && plan_finish_release(p, lease))
		return true;
	if (keep && (taken || (vf && !pooled)))
		return refuse_taken(p, device, others ? lease : NULL);
	if (!taken && !keep && adopt_free(p))
		return true;
	p->only = vf && keep ? parent : NULL;
	/* plan_creation() ignores a lease of its ID, so never pass the ID of another domain's lease. */
	if (plan_creation(p, taken || !*id ? resolved->fresh : id))
		return true;
	if (!taken || keep || p->plan->refused == REFUSED_QUOTA || !(adopt_free(p) || (fits && adopt(p, device))))
		return false;
	p->plan->kind = PLAN_STEPS;
	return true;
}

bool plan_assignment(struct planner *p)
{
	if (!p->resolved->req->any) {
		size_t nverdicts = p->plan->nverdicts;

		if (plan_start(p, p->resolved->req->id))
			return true;
		if (p->plan->kind != PLAN_REFUSE)
			return false;
		p->plan->kind = PLAN_STEPS;
		p->plan->nverdicts = nverdicts;
		p->only = NULL;
	}
	return adopt_free(p) || plan_creation(p, p->resolved->fresh);
}
