/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Shared by the parts of survey. */
#pragma once

#include "survey/survey.h"

/* Drops the results of survey_ahead(). */
void survey_drop_lookups(struct world *world);

/*
 * The type IDs for inventory_read(): those of the request, of the leases, and of `config` (may be NULL).
 * NULL-terminated; one allocation, which the caller frees.
 */
const char **survey_types(const struct world *world, const struct config *config);

/*
 * Fills in, for each device that a rule asks about, whether it was open at the last look and which domain names it.
 * False: one of them came after that look.
 */
bool survey_say_open(struct world *world);
