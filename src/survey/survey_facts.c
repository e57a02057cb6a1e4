/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a run learns between two surveys, and all of it as plan takes it. */
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "survey/survey.h"

void survey_stuck(struct survey *s, const char *id)
{
	struct reclaimable *stuck = mem_add(&s->stuck, &s->nstuck, sizeof(*stuck));

	snprintf(stuck->id, ID_SIZE, "%s", id);
}

void survey_failed_attempt(struct survey *s, const struct vgpu_ref *vgpu, enum failed_part part, enum cause cause,
			   const char *reason)
{
	struct failed_attempt *m = mem_add(&s->failed_attempts, &s->nfailed_attempts, sizeof(*m));

	m->part = part;
	snprintf(m->pgpu, sizeof(m->pgpu), "%s", vgpu->pgpu);
	snprintf(m->parent, sizeof(m->parent), "%s", part == FAILED_VF ? vgpu->parent : "");
	snprintf(m->type, sizeof(m->type), "%s", vgpu->type);
	m->cause = cause;
	snprintf(m->reason, sizeof(m->reason), "%s", reason);
}

struct plan_facts survey_facts(const struct survey *s)
{
	return (struct plan_facts){ .mode = s->mode,
				    .config = s->config,
				    .why_no_config = s->why_no_config,
				    .inv = &s->inv,
				    .pool = s->config ? &s->pool : NULL,
				    .leases = &s->leases,
				    .libvirt = s->libvirt,
				    .failures = s->failures,
				    .nfailures = s->nfailures,
				    .request = s->request,
				    .resolved_requests = s->resolved_requests,
				    .failed_attempts = s->failed_attempts,
				    .nfailed_attempts = s->nfailed_attempts,
				    .reclaimable = s->reclaimable,
				    .nreclaimable = s->nreclaimable,
				    .reclaimable_known = s->reclaimable_known,
				    .missing_cards = s->missing_cards,
				    .nmissing_cards = s->nmissing_cards };
}
