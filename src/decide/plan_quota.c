/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Checks a project's quota. Leases in every state count. If the quota is exhausted, plans the removal of reclaimable
 * leases, or a wait for a release in progress.
 */
#include <string.h>

#include "base/mem.h"
#include "internal.h"

/* Does this lease count in the quota for vGPU `id`? An arrival replaces its domain's older leases, so they do not. */
static bool counts(const struct planner *p, const struct lease *lease, const char *id)
{
	const struct request *request = p->world->request;

	return strcmp(lease->project, request->project) == 0 && strcmp(lease->vgpu.id, id) != 0 &&
	       (p->world->mode == PLAN_PREPARE || lease->promised || strcmp(lease->domain, request->uuid) != 0);
}

int plan_quota(struct planner *p, const char *id)
{
	const struct world *world = p->world;
	const char *project = world->request->project;
	int limit, holds = 0, reclaimable = 0;
	bool in_flight = false;

	limit = config_quota(world->config, project);
	if (limit == NO_LIMIT)
		return 0;
	for (EACH(const struct lease *, lease, world->leases.list, world->leases.n)) {
		if (!counts(p, lease, id))
			continue;
		holds++;
		reclaimable += plan_may_remove(world, lease->vgpu.id);
		in_flight |= lease->at_work && !lease->hangs;
	}
	if (holds < limit)
		return 0;
	if (limit > 0 && holds - limit < reclaimable)
		return holds - limit + 1;
	plan_refuse(p, "quota of %s%s exhausted: %d of %d ([quota]%s)",
		    *project ? "project " : "domains without a project", project, holds, limit,
		    *project ? "" : " none");
	p->plan->refused = REFUSED_QUOTA;
	if (in_flight)
		p->plan->kind = PLAN_WAIT;
	return -1;
}

void plan_quota_removes(const struct planner *p, int n)
{
	const struct world *world = p->world;

	/* An arrival leaves the removals to the prepare that follows. */
	for (size_t i = 0; i < world->leases.n && n > 0 && world->mode == PLAN_PREPARE; i++) {
		const struct lease *lease = &world->leases.list[i];

		if (!counts(p, lease, p->step->vgpu.id) || !plan_may_remove(world, lease->vgpu.id))
			continue;
		n--;
		plan_remove(p, lease->vgpu.id);
	}
}
