/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Handles the failed part of a plan in the same way for a start and for its preview. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "internal.h"

/* Records what failed, so that the next plan skips this candidate. */
static struct failed_attempt *add_attempt(struct world *world, const struct vgpu_ref *vgpu, enum failed_part part,
					  enum cause cause)
{
	struct failed_attempt *attempt = mem_add(&world->failed_attempts, &world->nfailed_attempts, sizeof(*attempt));

	attempt->part = part;
	attempt->cause = cause;
	memcpy(attempt->pgpu, vgpu->pgpu, sizeof(attempt->pgpu));
	memcpy(attempt->type, vgpu->type, sizeof(attempt->type));
	if (part == FAILED_VF)
		memcpy(attempt->parent, vgpu->parent, sizeof(attempt->parent));
	return attempt;
}

/* True for an mdev on a VF, which holds one mdev. If that VF is full, the card's other VFs may have capacity. */
static bool is_vf_of_mdev(const struct vgpu_ref *vgpu)
{
	return vgpu->framework == FW_MDEV && strcmp(vgpu->parent, vgpu->pgpu) != 0;
}

int attempt_failed(struct world *world, const struct step *step, int n, struct err *err)
{
	bool full = n == -ENOSPC;
	struct failed_attempt *attempt;

	/* A vGPU that exists cannot move to another card. */
	if (n == -ETIMEDOUT || n == -ECANCELED || n == -ESTALE || step->kind != STEP_CREATE)
		return err_in(err, "vGPU %s", step->vgpu.id);
	attempt = add_attempt(world, &step->vgpu, full && is_vf_of_mdev(&step->vgpu) ? FAILED_VF : FAILED_CARD,
			      full ? CAUSE_IN_USE : CAUSE_FAILED);
	snprintf(attempt->reason, sizeof(attempt->reason), "%s", err->text + err->cause);
	return 0;
}

void removal_failed(struct world *world, const struct plan *plan, size_t i, const struct err *err)
{
	const struct step *step = &plan->steps[plan->nsteps - 1];
	struct failed_attempt *attempt;

	memcpy(mem_add(&world->stuck, &world->nstuck, ID_SIZE), plan->removes[i], ID_SIZE);
	if (i >= plan->nremoves - plan->nquota)
		return;
	attempt = add_attempt(world, &step->vgpu, FAILED_REMOVAL, CAUSE_FAILED);
	snprintf(attempt->reason, sizeof(attempt->reason), "an orphan cannot be removed: %.200s",
		 err->text + err->cause);
}
