/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Where a domain comes from by live migration: does what it brings fit what is here?
 *
 * A vGPU's state moves between vGPUs of one type and drivers of one version only. QEMU finds out late, and says so in
 * no clear words (Red Hat: "vGPU live migration fails if the vGPU driver version differs"). What the source does not
 * say is no reason to refuse. A restore has its image from this host, and is not asked.
 */
#include <stdio.h>
#include <string.h>

#include "internal.h"

bool plan_driver_differs(const struct world *world, const struct vgpu_request *req)
{
	return world->mode == PLAN_MIGRATE && *req->facts.driver && *world->inv.nvidia_driver &&
	       strcmp(req->facts.driver, world->inv.nvidia_driver) != 0;
}

/*
 * Is this type called otherwise here, on each card, than on the source? Ids are the drivers' own; the name says what a
 * type is. Other versions of a driver may have other names for the same.
 */
static bool name_differs(const struct world *world, const struct vgpu_request *req, const char *type)
{
	bool named = false, known = false;

	if (world->mode != PLAN_MIGRATE || !*req->facts.name || plan_driver_differs(world, req))
		return false;
	for (size_t i = 0; i < world->inv.ntypes && !named; i++) {
		if (strcmp(world->inv.types[i]->id, type) != 0)
			continue;
		known = true;
		named = strcmp(world->inv.types[i]->name, req->facts.name) == 0;
	}
	return known && !named;
}

void plan_source_narrow(const struct world *world, struct resolved_request *resolved)
{
	int kept = 0;

	for (int i = 0; i < resolved->ntypes; i++) {
		if (name_differs(world, resolved->req, resolved->types[i]))
			continue;
		if (kept != i)
			memcpy(resolved->types[kept], resolved->types[i], TYPE_SIZE);
		kept++;
	}
	/* None would be any. */
	if (kept)
		resolved->ntypes = kept;
}

bool plan_source_fits(struct planner *p, size_t req)
{
	const struct world *world = p->world;
	const struct resolved_request *resolved = &world->resolved_requests[req];
	const struct vgpu_request *w = resolved->req;
	bool warns = world->config && world->config->policy.mismatch_warns;

	if (plan_driver_differs(world, w) && !warns)
		return plan_refuse(
			p, req,
			"driver version %s on the source, %s here; use one version on both hosts, or set driver_mismatch = warn",
			w->facts.driver, world->inv.nvidia_driver);
	if (plan_driver_differs(world, w))
		snprintf(p->plan->warning, sizeof(p->plan->warning),
			 "vGPU %s: driver version %s on the source, %s here", w->id, w->facts.driver,
			 world->inv.nvidia_driver);
	if (resolved->ntypes && name_differs(world, w, resolved->types[0]))
		return plan_refuse(
			p, req,
			"%s%s%s on the source, but %s is %s here; a migration needs the same type on both hosts",
			w->facts.name, *w->facts.model ? " of " : "", w->facts.model, resolved->types[0],
			inventory_type(&world->inv, resolved->types[0])->name);
	return true;
}
