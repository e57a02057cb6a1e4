/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Between the parts of survey. */
#pragma once

#include "survey/survey.h"

/* What survey_ahead() has found. */
void survey_drop_lookups(struct world *world);

/*
 * The ids that the request names, those that the leases hold, and with a configuration (NULL: without) those that it
 * enables, for inventory_read(); NULL-terminated, in one allocation, the caller frees it.
 */
const char **survey_types(const struct world *world, const struct config *config);

/* Says of each device that a rule asks about whether it was open at the last look, and which domain names it. */
void survey_say_open(struct world *world);
