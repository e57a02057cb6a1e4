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

/* A step without a removal of its own counts on that of an earlier one, on its own card. */
static void shared_removal(void)
{
	static struct setup w;
	static const struct row row = { "", "84 s=0/1; 85 s=15/16 l=0/4", "o1:84:s o2:85:s",
					"", "s@84 l@85; goes=o1,o2",      "u1~s u2~l u3~l" };
	struct plan plan;

	make_world(&w, &row);
	plan_make(&plan, &w.facts);
	ok(plan.kind == PLAN_REMOVE && says(plan.steps[2].why, "M_PLAN_AFTER_ORPHAN", "o2"), "%s", plan.steps[2].why);
	plan_free(&plan);
}

/* `mode`: of the rows that name no other. */
static void test_rows(const struct row *rows, size_t n, enum plan_mode mode)
{
	static struct setup w;

	for (const struct row *row = rows; row < rows + n; row++) {
		struct plan plan;
		char got[4096];
		const char *expected = message_in(row->result);
		bool same, refused;

		make_world(&w, row);
		if (w.facts.mode == PLAN_PREPARE)
			w.facts.mode = mode;
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
}

int main(void)
{
	test_rows(starts, ARRAY_SIZE(starts), PLAN_PREPARE);
	test_rows(arrivals, ARRAY_SIZE(arrivals), PLAN_MIGRATE);
	test_rows(assignments, ARRAY_SIZE(assignments), PLAN_ASSIGN);
	shared_removal();
	return tap_done();
}
