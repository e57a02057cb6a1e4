/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A definition whose VFs are not to be had here, and what they become. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "plan/plan.h"
#include "ops/rewrite.h"
#include "survey/survey.h"

static bool is_vf(const struct want *want)
{
	return want->kind == WANT_PCI && want->has_metadata;
}

bool rewrite_names_vfs(const struct rewrite *r)
{
	const struct request *request = domxml_request(r->doc);

	for (size_t i = 0; i < request->nwants; i++)
		if (is_vf(&request->wants[i]))
			return true;
	return false;
}

/* What a plan for these VFs alone makes of them: changes[i] of the document's want which[i]. */
static int plan_vfs(struct rewrite *r, const struct rewrite_host *host, const struct request *vfs, const size_t *which,
		    struct err *err)
{
	struct survey survey = { 0 };
	struct plan plan = { 0 };
	int n = survey_start(&survey, host->host, host->store, host->config, vfs, PLAN_RESTORE, err);

	survey.dry = true;
	if (n == 0)
		n = survey_host(&survey, err);
	if (n == 0)
		n = survey_leases(&survey, err);
	for (int round = 0; n == 0 && round < 2; round++) {
		struct plan_facts facts = survey_facts(&survey);

		plan_free(&plan);
		plan_make(&plan, &facts);
		if (plan.kind != PLAN_LOOK)
			break;
		n = survey_look(&survey, err);
	}
	if (n == 0 && plan.kind != PLAN_STEPS)
		n = err_set(err, ENOSPC, "vGPU %s: %s", vfs->wants[plan.refused_want].id, plan.text);
	for (size_t i = 0; n == 0 && i < plan.nsteps; i++) {
		struct domxml_change *change = &r->changes[r->nchanges];

		if (strcmp(plan.steps[i].id, vfs->wants[i].id) == 0)
			continue;
		change->want = which[i];
		memcpy(change->id, plan.steps[i].id, sizeof(change->id));
		r->nchanges++;
	}
	plan_free(&plan);
	survey_end(&survey);
	return n;
}

int rewrite_vfs(struct rewrite *r, const struct rewrite_host *host, struct err *err)
{
	const struct request *request = domxml_request(r->doc);
	autofree struct want *wants = calloc(request->nwants + 1, sizeof(*wants));
	autofree size_t *which = calloc(request->nwants + 1, sizeof(*which));
	struct request vfs = *request;

	if (!wants || !which)
		abort();
	vfs.wants = wants;
	vfs.nwants = 0;
	for (size_t i = 0; i < request->nwants; i++) {
		if (!is_vf(&request->wants[i]))
			continue;
		wants[vfs.nwants] = request->wants[i];
		which[vfs.nwants++] = i;
	}
	return vfs.nwants ? plan_vfs(r, host, &vfs, which, err) : 0;
}
