/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A plan in words, for --dry-run and `vgpu-lease plan`. */
#include "preview.h"

#include <string.h>

#include "text.h"

const char *preview_word(const struct survey *survey, const struct step *step)
{
	if (survey->mode != PLAN_PREPARE)
		return "reserve";
	return step->kind == STEP_KEEP ? "keep" : step->kind == STEP_ADOPT ? "adopt" : "create";
}

void preview_print(FILE *to, const struct survey *survey, const struct plan *plan, bool verdicts)
{
	char safe[REASON_SIZE];

	for (size_t i = 0; plan->kind == PLAN_REMOVE && i < plan->nremoves; i++) {
		const struct inv_device *d = inventory_device(&survey->inv, plan->removes[i]);

		fprintf(to, "remove %s%s%s%s%s (unused)\n", plan->removes[i], d ? ", " : "", d ? d->type : "",
			d ? " on " : "", d ? d->parent_name : "");
	}
	for (size_t i = 0; i < plan->nsteps; i++) {
		const struct step *step = &plan->steps[i];
		const char *id = survey->request->wants[i].id;

		text_safe(safe, sizeof(safe), step->why);
		fprintf(to, "%s %s, %s on %s (%s)", preview_word(survey, step), step->id, step->type, step->parent, safe);
		if (strcmp(id, step->id) != 0)
			fprintf(to, ", instead of %s", id);
		fputc('\n', to);
	}
	for (size_t i = 0; verdicts && i < plan->nverdicts; i++) {
		const struct verdict *v = &plan->verdicts[i];

		text_safe(safe, sizeof(safe), v->reason);
		fprintf(to, "not on %s for %s: %s\n", survey->inv.pgpus[v->pgpu].address,
			survey->request->wants[v->want].id, safe);
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
			fprintf(to, "%s %s, %s on %s\n", what, l->id, l->type, l->parent);
	}
	lease_list_free(&leases);
	return r;
}
