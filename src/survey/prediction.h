/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Predicts the facts about the vGPUs of a domain that is being defined.
 *
 * The card of a vGPU is not chosen yet, so the definition receives only the facts that all possible cards share.
 */
#pragma once

#include <stdbool.h>

#include "survey/survey.h"

/*
 * The facts for a request's <vgpu:device>. The type is copied from the metadata; if they name none, it is the ID of the
 * only possible type, else "". False: no card of the pool can serve the request. `world` must have a configuration
 * whose types were read, by a wide survey or one without a request.
 */
bool prediction_facts(struct migration_facts *facts, const struct world *world, const struct request *request,
		      const struct vgpu_request *req);
