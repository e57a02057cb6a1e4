/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A definition whose VFs are not to be had here, and what they become. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "plan/plan.h"
#include "ops/rewrite.h"
#include "survey/survey.h"

static bool is_vf(const struct vgpu_request *req)
{
	return req->kind == REQUEST_PCI && req->has_metadata;
}

bool rewrite_names_vfs(const struct rewrite *r)
{
	const struct request *request = domxml_request(r->doc);

	for (size_t i = 0; i < request->nvgpus; i++)
		if (is_vf(&request->vgpus[i]))
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
		n = err_set(err, ENOSPC, "vGPU %s: %s", vfs->vgpus[plan.refused_vgpu].id, plan.text);
	for (size_t i = 0; n == 0 && i < plan.nsteps; i++) {
		struct domxml_change *change = &r->changes[r->nchanges];

		if (strcmp(plan.steps[i].vgpu.id, vfs->vgpus[i].id) == 0)
			continue;
		change->req = which[i];
		memcpy(change->id, plan.steps[i].vgpu.id, sizeof(change->id));
		r->nchanges++;
	}
	plan_free(&plan);
	survey_end(&survey);
	return n;
}

int rewrite_vfs(struct rewrite *r, const struct rewrite_host *host, struct err *err)
{
	const struct request *request = domxml_request(r->doc);
	autofree struct vgpu_request *vgpus = calloc(request->nvgpus + 1, sizeof(*vgpus));
	autofree size_t *which = calloc(request->nvgpus + 1, sizeof(*which));
	struct request vfs = *request;

	if (!vgpus || !which)
		abort();
	vfs.vgpus = vgpus;
	vfs.nvgpus = 0;
	for (size_t i = 0; i < request->nvgpus; i++) {
		if (!is_vf(&request->vgpus[i]))
			continue;
		vgpus[vfs.nvgpus] = request->vgpus[i];
		which[vfs.nvgpus++] = i;
	}
	return vfs.nvgpus ? plan_vfs(r, host, &vfs, which, err) : 0;
}
