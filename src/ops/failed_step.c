/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What becomes of a plan of which a part cannot be carried out: one answer for a start and for its preview. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "internal.h"

/* There one vGPU fits on each: that none does on this one, which the driver may have lost, says nothing of others. */
static bool is_vf_of_mdev(const struct vgpu_ref *vgpu)
{
	return vgpu->framework == FW_MDEV && strcmp(vgpu->parent, vgpu->pgpu) != 0;
}

int attempt_failed(struct survey *survey, const struct step *step, int n, struct err *err)
{
	/* What exists is where it is: no other card will do. */
	if (n == -ETIMEDOUT || n == -ECANCELED || n == -ESTALE || step->kind != STEP_CREATE)
		return err_in(err, "vGPU %s", step->vgpu.id);
	survey_failed_attempt(survey, &step->vgpu, n == -ENOSPC && is_vf_of_mdev(&step->vgpu) ? FAILED_VF : FAILED_CARD,
			      n == -ENOSPC ? CAUSE_IN_USE : CAUSE_FAILED, err->text + err->cause);
	return 0;
}

void removal_failed(struct survey *survey, const struct plan *plan, size_t i, const struct err *err)
{
	const struct step *step = &plan->steps[plan->nsteps - 1];
	char reason[REASON_SIZE];

	survey_stuck(survey, plan->removes[i]);
	if (i >= plan->nremoves - plan->nquota)
		return;
	snprintf(reason, sizeof(reason), "an orphan cannot be removed: %.200s", err->text + err->cause);
	survey_failed_attempt(survey, &step->vgpu, FAILED_REMOVAL, CAUSE_FAILED, reason);
}
