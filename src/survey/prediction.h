/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A domain that is being defined: what can be told of its vGPUs before they exist.
 *
 * Which card a vGPU will be made on is not known then. What all cards that may be chosen have in common is, and that
 * much of it travels in the definition.
 */
#pragma once

#include <stdbool.h>

#include "survey/survey.h"

/*
 * The facts for a request's <vgpu:device>. The type stays as the metadata word it; where they are silent and only one
 * comes into question, it is that one's id. False where no card of the pool can serve it: nothing is known then. The
 * survey has a configuration, and has read its types (SURVEY_EXPLAIN).
 */
bool prediction_facts(struct migration_facts *facts, const struct world *world, const struct request *request,
		      const struct vgpu_request *req);
