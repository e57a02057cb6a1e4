/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A plan in words, for --dry-run and `vgpu-lease plan`: one step a line.
 */
#pragma once

#include <stdio.h>

#include "survey/survey.h"

/* Can the plan be carried out, now or when what it removes first is gone? */
bool preview_is_possible(const struct plan *plan);

/* What `release end` of a domain would do with each of its leases. */
int preview_release(FILE *to, const struct store *store, const char *domain, struct err *err);

/* Prints the steps, what would be removed first, and with `verdicts` why each other pGPU was not chosen. */
void preview_print(FILE *to, const struct survey *survey, const struct plan *plan, bool verdicts);

/* What a step does: "keep", "adopt", "create", or for an arrival "reserve". */
const char *preview_word(const struct survey *survey, const struct step *step);

/*
 * Why this pGPU was not chosen for this want; false where it was, where nothing had to be chosen (the device exists),
 * or where the plan did not get that far.
 */
bool preview_not_chosen(const struct survey *survey, const struct plan *plan, size_t req, size_t pgpu, char *why,
			size_t size);
