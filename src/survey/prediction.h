/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What is known about the vGPUs of a domain that is being defined, before they exist.
 *
 * The card of a vGPU is not chosen yet, so the definition receives only the facts that all possible cards share.
 */
#pragma once

#include <stdbool.h>

#include "survey/survey.h"

/*
 * The facts for a request's <vgpu:device>. The type is the one in the metadata, as it is written there; if they name
 * none and only one type is possible, it is that type's ID. False: no card of the pool can serve the request, so
 * nothing is known. The survey must have a configuration, and must have read its types (SURVEY_EXPLAIN).
 */
bool prediction_facts(struct migration_facts *facts, const struct world *world, const struct request *request,
		      const struct vgpu_request *req);
