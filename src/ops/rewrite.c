/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A definition in which placeholders have become UUIDs of their own. */
#include "ops/rewrite.h"

#include <stdlib.h>

#include "survey/prediction.h"
#include "base/ident.h"
#include "survey/hostdev_filter.h"
#include "survey/survey.h"

int rewrite_begin(struct rewrite *r, struct err *err)
{
	const struct request *request;

	/* All PCI hostdevs, so that no vGPU is given the address of another device. */
	if (domxml_parse(&r->doc, r->xml, r->len, r->flags | DOMXML_ALL_PCI, err) < 0 ||
	    hostdev_filter_keep(r->doc, NULL, NULL, NULL, err) < 0)
		return -err->code;
	request = domxml_request(r->doc);
	r->changes = calloc(request->nvgpus + 1, sizeof(*r->changes));
	if (!r->changes)
		abort();
	for (size_t i = 0; i < request->nvgpus; i++) {
		const struct vgpu_request *req = &request->vgpus[i];

		/* A VF has no other name than its address. */
		if (req->kind != REQUEST_MDEV || (!r->all && !req->placeholder))
			continue;
		r->changes[r->nchanges].req = i;
		uuid_random(r->changes[r->nchanges++].id);
	}
	return 0;
}

bool rewrite_asks(const struct rewrite *r)
{
	for (size_t i = 0; i < r->nchanges; i++)
		if (domxml_request(r->doc)->vgpus[r->changes[i].req].has_metadata)
			return true;
	return false;
}

void rewrite_facts(struct rewrite *r, const struct rewrite_host *host)
{
	static const struct request nothing;
	const struct request *request = domxml_request(r->doc);
	struct survey survey = { 0 };
	struct err ignored;
	int known = survey_start(&survey, host->host, host->store, host->config, &nothing, PLAN_PREPARE, &ignored);

	survey.all_types = true;
	survey.dry = true;
	if (known == 0 && survey_host(&survey, &ignored) == 0) {
		const struct prediction prediction = { .host = host->host,
						       .store = host->store,
						       .config = host->config,
						       .inv = &survey.inv,
						       .pool = &survey.pool };

		for (size_t i = 0; i < r->nchanges; i++) {
			struct domxml_change *change = &r->changes[i];

			change->has_facts = prediction_facts(&change->facts, &prediction, request,
							     &request->vgpus[change->req]);
		}
	}
	survey_end(&survey);
}

int rewrite_make(struct rewrite *r, struct err *err)
{
	return domxml_rewrite(r->doc, r->changes, r->nchanges, &r->rewritten, &r->rewritten_len, err);
}

void rewrite_end(struct rewrite *r)
{
	domxml_free(r->doc);
	free(r->changes);
	free(r->rewritten);
	*r = (struct rewrite){ 0 };
}
