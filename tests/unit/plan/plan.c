/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The rules of the plan, as a table: each row is the facts (world.h), and what must come of them, with messages in
 * braces (lib/messages.h).
 */
#include "plan/plan.h"

#include "lib/messages.h"
#include "unit/plan/world.h"

static void describe(const struct plan *plan, char *out, size_t size)
{
	static const char *const kinds[] = { "keep", "adopt", "create" };
	static const char *const owners[] = {
		[OWNER_NOVA] = " for Nova", [OWNER_MDEVCTL] = " for mdevctl", [OWNER_HOOK] = ""
	};
	size_t n = 0;

	out[0] = '\0';
	if (plan->kind == PLAN_WAIT || plan->kind == PLAN_REFUSE) {
		snprintf(out, size, "%s: %s", plan->kind == PLAN_WAIT ? "wait" : "refuse", plan->text);
		return;
	}
	for (size_t i = 0; plan->kind == PLAN_REMOVE && i < plan->nremoves; i++)
		n += (size_t)snprintf(out + n, size - n, "%sremove %s", n ? ", " : "", plan->removes[i]);
	for (size_t i = 0; i < plan->nsteps; i++)
		n += (size_t)snprintf(out + n, size - n, "%s%s %s %s on %s%s", n ? ", " : "",
				      kinds[plan->steps[i].kind], plan->steps[i].vgpu.id, plan->steps[i].vgpu.type,
				      plan->steps[i].vgpu.parent, owners[plan->steps[i].owner]);
}

#include "unit/plan/plan_rows.h"

int main(void)
{
	static struct setup w;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *row = &rows[i];
		struct plan plan;
		char got[4096];
		const char *expected = message_in(row->req);
		bool same;

		make_world(&w, row);
		plan_make(&plan, &w.facts);
		describe(&plan, got, sizeof(got));
		/* A row may give the beginning of a refusal only. */
		same = strncmp(row->req, "refuse", 6) == 0 || strncmp(row->req, "wait", 4) == 0
			       ? strncmp(got, expected, strlen(expected)) == 0
			       : strcmp(got, expected) == 0;
		if (!ok(same, "%s", row->says)) {
			tap_row(rows_file, row->says);
			printf("# got:  %s\n# expected: %s\n", got, expected);
		}
		plan_free(&plan);
	}
	return tap_done();
}
