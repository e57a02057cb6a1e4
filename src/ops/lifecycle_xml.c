/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The XML that a domain is given instead of its own, and what is undone where it cannot be handed over. */
#include <stdlib.h>
#include <string.h>

#include "ops/lifecycle.h"
#include "base/auto.h"
#include "survey/migration_facts.h"

/* Comes behind the time of the operation. */
enum { UNRESERVE_MS = 2000 };

int lifecycle_rewritten(const struct lifecycle *lifecycle, const struct survey *survey, const struct plan *plan,
			char **xml, size_t *len, bool *changed, struct err *err)
{
	autofree struct domxml_change *changes = calloc(plan->nsteps + 1, sizeof(*changes));

	if (!changes)
		abort();
	*changed = false;
	for (size_t i = 0; i < plan->nsteps; i++) {
		const struct step *step = &plan->steps[i];
		struct domxml_change *change = &changes[i];

		change->req = i;
		change->has_facts = survey->mode != PLAN_PREPARE && *step->vgpu.type;
		change->changes_framework = (step->vgpu.framework == FW_MDEV) !=
					    (lifecycle->request->vgpus[i].kind == REQUEST_MDEV);
		migration_facts_type(&change->facts, &survey->inv, inventory_pgpu(&survey->inv, step->vgpu.pgpu),
				     step->vgpu.type);
		if (strcmp(step->vgpu.id, lifecycle->request->vgpus[i].id) == 0)
			continue;
		memcpy(change->id, step->vgpu.id, ID_SIZE);
		*changed = true;
	}
	return domxml_rewrite(lifecycle->doc, changes, *changed ? plan->nsteps : 0, xml, len, err);
}

void lifecycle_unreserve(const struct lifecycle *lifecycle)
{
	struct store store;
	struct leases leases = { 0 };
	struct err err;

	if (store_open(&store, lifecycle->host, false, &err) == 0 && store_lock(&store, UNRESERVE_MS, &err) == 0 &&
	    lease_list(&store, &leases, &err) == 0)
		for (size_t i = 0; i < leases.n; i++)
			if (strcmp(leases.list[i].domain, lifecycle->request->uuid) == 0 &&
			    leases.list[i].state == LEASE_RESERVED)
				lease_drop(&store, leases.list[i].vgpu.id, &err);
	lease_list_free(&leases);
	store_close(&store);
}
