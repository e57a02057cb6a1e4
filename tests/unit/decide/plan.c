/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The rules of the plan: a row is facts (world.h) and what must come of them, with messages in braces (messages.h). */
#include "decide/plan.h"

#include "lib/messages.h"
#include "unit/decide/world.h"

/* The steps, each with its device only where that is another one than requested; or the text of a refusal. */
static void describe(const struct plan *plan, const struct request *request, char *out, size_t size)
{
	static const char *const kinds[] = { "keep", "adopt", "create" };
	static const char *const owners[] = {
		[OWNER_NOVA] = " for Nova", [OWNER_MDEVCTL] = " for mdevctl", [OWNER_HOOK] = ""
	};

	out[0] = '\0';
	if (plan->kind == PLAN_WAIT || plan->kind == PLAN_REFUSE)
		text_add(out, size, "%s%s", plan->kind == PLAN_WAIT ? "wait: " : "", plan->text);
	for (size_t i = 0; plan->kind == PLAN_REMOVE && i < plan->nremoves; i++)
		text_add(out, size, "%sremove %s", *out ? ", " : "", plan->removes[i]);
	for (size_t i = 0; plan->kind != PLAN_WAIT && plan->kind != PLAN_REFUSE && i < plan->nsteps; i++) {
		const struct vgpu_ref *vgpu = &plan->steps[i].vgpu;
		bool is_other = strcmp(vgpu->id, request->vgpus[i].id) != 0;

		text_add(out, size, "%s%s %s%s%s", *out ? ", " : "", kinds[plan->steps[i].kind],
			 is_other ? vgpu->id : "", is_other ? " " : "", vgpu->type);
		if (strcmp(vgpu->parent, vgpu->id) != 0)
			text_add(out, size, "@%s", vgpu->parent);
		text_add(out, size, "%s", owners[plan->steps[i].owner]);
	}
}

#include "unit/decide/plan_rows.h"

int main(void)
{
	static struct setup w;

	for (ROWS(row, rows)) {
		struct plan plan;
		char got[4096];
		const char *expected = message_in(row->result);
		bool same, refused;

		make_world(&w, row);
		plan_make(&plan, &w.facts);
		describe(&plan, &w.request, got, sizeof(got));
		/* A row may give the beginning of a refusal only. */
		refused = plan.kind == PLAN_REFUSE || plan.kind == PLAN_WAIT;
		same = strncmp(got, expected, refused ? strlen(expected) : sizeof(got)) == 0;
		if (!ok(same, "%s", row->says)) {
			tap_row(rows_file, row->says);
			printf("# got:  %s\n# expected: %s\n", got, expected);
		}
		plan_free(&plan);
	}
	return tap_done();
}
