/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A plan in words, for --dry-run and `vgpu-lease plan`. */
#include "ops/preview.h"

#include <string.h>

#include "base/text.h"

bool preview_is_possible(const struct plan *plan)
{
	return plan->kind == PLAN_STEPS || plan->kind == PLAN_REMOVE;
}

const char *preview_word(const struct survey *survey, const struct step *step)
{
	if (survey->mode != PLAN_PREPARE)
		return "reserve";
	return step->kind == STEP_KEEP ? "keep" : step->kind == STEP_ADOPT ? "adopt" : "create";
}

bool preview_not_chosen(const struct survey *survey, const struct plan *plan, size_t req, size_t pgpu, char *why,
			size_t size)
{
	const struct step *step = req < plan->nsteps ? &plan->steps[req] : NULL;
	const struct plan_facts facts = survey_facts(survey);
	const char *reason;

	if (step && (step->kind != STEP_CREATE || strcmp(step->vgpu.pgpu, survey->inv.pgpus[pgpu].address) == 0))
		return false;
	for (size_t i = 0; i < plan->nverdicts; i++) {
		const struct verdict *v = &plan->verdicts[i];

		if (v->req != req || v->pgpu != (int)pgpu)
			continue;
		snprintf(why, size, "%s%s%s", v->reason, *v->fix ? ": " : "", v->fix);
		return true;
	}
	/* A start with a VF has no choice of cards. */
	if (survey->mode == PLAN_PREPARE && survey->request->vgpus[req].kind == REQUEST_PCI)
		return false;
	reason = plan_other_kind(&facts, (int)pgpu, &survey->request->vgpus[req]);
	if (!reason && step)
		reason = "it would do, too: the one that was chosen goes first";
	snprintf(why, size, "%s", reason ? reason : "");
	return reason != NULL;
}

/* What goes first, and why it may. */
static void print_removal(FILE *to, const struct survey *survey, const char *id)
{
	const struct inv_device *device = inventory_device(&survey->inv, id);
	const struct lease *lease = lease_find(&survey->leases, id);
	char name[REASON_SIZE];

	fprintf(to, "remove %s", id);
	if (device)
		fprintf(to, ", %s on %s", device->vgpu.type, device->vgpu.parent);
	else if (lease)
		fprintf(to, ", %s on %s", lease->vgpu.type, lease->vgpu.parent);
	text_safe(name, sizeof(name), lease ? lease->name : "");
	if (!lease)
		fprintf(to, " (orphan)\n");
	else if (lease->state == LEASE_RELEASING)
		fprintf(to, " (domain %s has released it)\n", name);
	else
		fprintf(to, " (domain %s no longer runs)\n", name);
}

void preview_print(FILE *to, const struct survey *survey, const struct plan *plan, bool verdicts)
{
	char safe[REASON_SIZE];

	for (size_t i = 0; plan->kind == PLAN_REMOVE && i < plan->nremoves; i++)
		print_removal(to, survey, plan->removes[i]);
	for (size_t i = 0; i < plan->nsteps; i++) {
		const struct step *step = &plan->steps[i];
		const char *id = survey->asked->vgpus[i].id;

		text_safe(safe, sizeof(safe), step->why);
		fprintf(to, "%s %s, %s on %s (%s)", preview_word(survey, step), step->vgpu.id, step->vgpu.type,
			step->vgpu.parent, safe);
		if (strcmp(id, step->vgpu.id) != 0)
			fprintf(to, ", instead of %s", id);
		fputc('\n', to);
	}
	for (size_t i = 0; verdicts && i < survey->request->nvgpus; i++) {
		for (size_t g = 0; g < survey->inv.npgpus; g++) {
			char why[2 * REASON_SIZE], shown[2 * REASON_SIZE];

			if (!preview_not_chosen(survey, plan, i, g, why, sizeof(why)))
				continue;
			text_safe(shown, sizeof(shown), why);
			fprintf(to, "not on %s for %s: %s\n", survey->inv.pgpus[g].address, survey->asked->vgpus[i].id,
				shown);
		}
	}
}

int preview_release(FILE *to, const struct store *store, const char *domain, struct err *err)
{
	struct leases leases;
	int r = lease_list(store, &leases, err);

	for (size_t i = 0; r == 0 && i < leases.n; i++) {
		const struct lease *l = &leases.list[i];
		const char *what = l->state == LEASE_RESERVED   ? "drop the reservation of"
				   : l->origin == LEASE_CREATED ? "remove"
								: "leave standing";

		if (strcmp(l->domain, domain) == 0)
			fprintf(to, "%s %s, %s on %s\n", what, l->vgpu.id, l->vgpu.type, l->vgpu.parent);
	}
	lease_list_free(&leases);
	return r;
}
