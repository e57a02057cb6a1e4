/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A plan in lines: the same words in `plan`, in a dry run and, at debug level, in the journal. */
#pragma once

#include <stdio.h>

#include "plan/plan.h"

enum { PLAN_WHY_SIZE = 2 * REASON_SIZE + 2 };

/* What a step does: at a start "keep", "adopt" or "create", else "reserve". */
const char *plan_word(const struct step *step, enum plan_mode mode);

/*
 * Why this pGPU was not chosen for this request. False: it was chosen, there was no choice (the device exists), or the
 * plan did not get that far.
 */
bool plan_not_chosen(const struct plan *plan, const struct world *world, size_t req, const struct inv_pgpu *card,
		     char why[PLAN_WHY_SIZE]);

/* Prints one line for each removal, each step, and with `verdicts`, each pGPU that was not chosen and why. */
void plan_print(FILE *to, const struct plan *plan, const struct world *world, bool verdicts);
