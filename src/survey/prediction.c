/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Predicts the facts about a vGPU when its domain is defined. */
#include "survey/prediction.h"

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "survey/migration_facts.h"
#include "base/text.h"

/* The first possible type of the request that the card serves; NULL: none. */
static const char *served(const struct inv_pgpu *card, const struct resolved_request *resolved)
{
	for (int t = 0; card->pool.in_pool && t < resolved->ntypes; t++)
		if (pool_serves(card, resolved->types[t]))
			return resolved->types[t];
	return NULL;
}

bool prediction_facts(struct migration_facts *facts, const struct world *survey, const struct request *request,
		      const struct vgpu_request *req)
{
	struct vgpu_request only = *req;
	struct request one = *request;
	autofree struct resolved_request *resolved = NULL;
	const struct section *pooled;
	struct err ignored;
	bool known = false;

	*facts = (struct migration_facts){ 0 };
	one.vgpus = &only;
	one.nvgpus = 1;
	if (survey_resolve(&resolved, &one, survey, &ignored) < 0)
		return false;
	if (resolved->ntypes == 0 && pool_types(&survey->inv, req->kind == REQUEST_MDEV, NULL, &pooled) == 1)
		resolved->ntypes = text_copy(resolved->types[0], TYPE_SIZE, pooled->type);
	for (size_t g = 0; g < survey->inv.npgpus; g++) {
		const char *type = served(survey->inv.pgpus[g], resolved);
		struct migration_facts here;

		if (!type)
			continue;
		migration_facts_type(&here, &survey->inv, survey->inv.pgpus[g], type);
		if (known)
			migration_facts_common(facts, &here);
		else
			*facts = here;
		known = true;
	}
	if (*req->facts.type)
		memcpy(facts->type, req->facts.type, sizeof(facts->type));
	return known;
}
