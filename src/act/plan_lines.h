/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A plan in lines: the same text in `plan`, in a dry run and, at debug level, in the journal. */
#pragma once

#include <stdio.h>

#include "decide/plan.h"

enum { PLAN_WHY_SIZE = 2 * REASON_SIZE + 2 };

/* What a step does: "keep", "adopt" or "create" at a start, "reserve" in the other modes. */
const char *plan_word(const struct step *step, enum plan_mode mode);

/*
 * Why this pGPU was not chosen for this request. False: the pGPU was chosen, there was no choice (the device exists),
 * or the plan ended before this request.
 */
bool plan_not_chosen(const struct plan *plan, const struct world *world, size_t req, const struct inv_pgpu *card,
		     char why[PLAN_WHY_SIZE]);

/* Prints a line for each removal and each step. With `verdicts`, also prints why each other pGPU was not chosen. */
void plan_print(FILE *to, const struct plan *plan, const struct world *world, bool verdicts);
