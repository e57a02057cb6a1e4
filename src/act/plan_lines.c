/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a plan does, and why. */
#include "act/plan_lines.h"

#include <string.h>

#include "base/text.h"

const char *plan_word(const struct step *step, enum plan_mode mode)
{
	if (mode != PLAN_PREPARE)
		return "reserve";
	return step->kind == STEP_KEEP ? "keep" : step->kind == STEP_ADOPT ? "adopt" : "create";
}

bool plan_not_chosen(const struct plan *plan, const struct world *world, size_t req, const struct inv_pgpu *card,
		     char why[PLAN_WHY_SIZE])
{
	const struct step *step = req < plan->nsteps ? &plan->steps[req] : NULL;

	if (step && (step->kind != STEP_CREATE || strcmp(step->vgpu.pgpu, card->address) == 0))
		return false;
	for (size_t i = 0; i < plan->nverdicts; i++) {
		const struct verdict *v = &plan->verdicts[i];

		if (v->req != req || v->card != card || v->elsewhere)
			continue;
		snprintf(why, PLAN_WHY_SIZE, "%s%s%s", v->reason, *v->fix ? "; " : "", v->fix);
		return true;
	}
	/* A start with a VF cannot choose a card. */
	if (world->mode == PLAN_PREPARE && world->request->vgpus[req].kind == REQUEST_PCI)
		return false;
	if (!plan_other_kind(world, card, &world->request->vgpus[req], why) && step)
		snprintf(why, PLAN_WHY_SIZE, "also suitable; ranked lower");
	return *why;
}

static void print_removal(FILE *to, const struct world *world, const char *id)
{
	const struct inv_device *device = inventory_device(&world->inv, id);
	const struct lease *lease = lease_find(&world->leases, id);
	const struct vgpu_ref *vgpu = device ? &device->vgpu : lease ? &lease->vgpu : NULL;
	char what[2 * REASON_SIZE] = "";

	if (vgpu)
		snprintf(what, sizeof(what), ", %s on %s", vgpu->type, vgpu->parent);
	if (!lease)
		text_line(to, "remove %s%s (orphan)", id, what);
	else
		text_line(to, "remove %s%s (domain %s %s)", id, what, lease->name,
			  lease->state == LEASE_RELEASING ? "has released it" : "no longer runs");
}

void plan_print(FILE *to, const struct plan *plan, const struct world *world, bool verdicts)
{
	for (size_t i = 0; i < plan->nremoves; i++)
		print_removal(to, world, plan->removes[i]);
	for (size_t i = 0; i < plan->nsteps; i++) {
		const struct step *step = &plan->steps[i];
		const char *id = world->asked->vgpus[i].id;
		const char *kept = step->kind == STEP_CREATE ? owner_why_kept(step->owner) : NULL;
		bool other = strcmp(id, step->vgpu.id) != 0;

		text_line(to, "%s %s, %s on %s (%s)%s%s%s%s", plan_word(step, world->mode), step->vgpu.id,
			  step->vgpu.type, step->vgpu.parent, step->why, kept ? ", kept at release: " : "",
			  kept ? kept : "", other ? ", instead of " : "", other ? id : "");
	}
	for (size_t i = 0; verdicts && i < world->request->nvgpus; i++) {
		for (size_t g = 0; g < world->inv.npgpus; g++) {
			char why[PLAN_WHY_SIZE];

			if (!plan_not_chosen(plan, world, i, world->inv.pgpus[g], why))
				continue;
			/* With one vGPU, its ID would only lengthen each line. */
			if (world->request->nvgpus == 1)
				text_line(to, "not on %s: %s", world->inv.pgpus[g]->address, why);
			else
				text_line(to, "not on %s for %s: %s", world->inv.pgpus[g]->address,
					  world->asked->vgpus[i].id, why);
		}
	}
}
