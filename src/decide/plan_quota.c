/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Checks a project's quota. Leases in every state count. If the quota is exhausted, plans the removal of reclaimable
 * leases, or a wait for a release in progress.
 */
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "internal.h"

/* Does this lease count in the quota for vGPU `id`? An arrival replaces its domain's older leases, so they do not. */
static bool counts(const struct planner *p, const struct lease *lease, const char *id)
{
	const struct request *request = p->world->request;

	return strcmp(lease->project, request->project) == 0 && strcmp(lease->vgpu.id, id) != 0 &&
	       (p->world->mode == PLAN_PREPARE || lease->promised || strcmp(lease->domain, request->uuid) != 0);
}

bool plan_quota(struct planner *p, const char *id)
{
	const struct world *world = p->world;
	const char *project = world->request->project;
	int limit, holds = 0, reclaimable = 0;
	bool in_flight = false;

	p->over_quota = 0;
	limit = config_quota(world->config, project);
	if (limit == NO_LIMIT)
		return true;
	for (EACH(const struct lease *, lease, world->leases.list, world->leases.n)) {
		if (!counts(p, lease, id))
			continue;
		holds++;
		reclaimable += plan_may_remove(world, lease->vgpu.id);
		in_flight |= lease->at_work && !lease->hangs;
	}
	if (holds < limit)
		return true;
	if (limit > 0 && holds - limit < reclaimable) {
		p->over_quota = holds - limit + 1;
		return true;
	}
	if (*project)
		plan_refuse(p, "quota of project %s exhausted: %d of %d ([quota])", project, holds, limit);
	else
		plan_refuse(p, "quota of domains without a project exhausted: %d of %d ([quota] none)", holds, limit);
	p->plan->refused = REFUSED_QUOTA;
	if (in_flight)
		p->plan->kind = PLAN_WAIT;
	return false;
}

void plan_quota_removes(struct planner *p)
{
	const struct world *world = p->world;
	struct plan *plan = p->plan;

	/* An arrival leaves the removals to the prepare that follows. */
	if (world->mode != PLAN_PREPARE || p->step->kind == STEP_KEEP)
		return;
	if (p->over_quota > 0 && plan->kind != PLAN_REMOVE) {
		plan->kind = PLAN_REMOVE;
		plan->nremoves = 0;
	}
	for (size_t i = 0; i < world->leases.n && p->over_quota > 0 && plan->nremoves < PLAN_REMOVES_MAX; i++) {
		const struct lease *lease = &world->leases.list[i];

		if (!counts(p, lease, p->step->vgpu.id) || !plan_may_remove(world, lease->vgpu.id))
			continue;
		p->over_quota--;
		if (text_find(plan->removes, plan->nremoves, ID_SIZE, lease->vgpu.id))
			continue;
		memcpy(plan->removes[plan->nremoves++], lease->vgpu.id, ID_SIZE);
		plan->nquota++;
	}
}
