/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What an operation would do: its plan, the plan in words, and the XML for the domain. Writes nothing. */
#pragma once

#include <stdio.h>

#include "act/lifecycle.h"
#include "act/rewrite.h"

/* Must be zero before preview_make() or preview_decide(). End it with preview_end() or `autopreview`. */
struct preview {
	const struct lifecycle *lifecycle; /* NULL: not made */
	struct store store;
	struct world world;
	struct plan plan;
	struct rewritten rewritten;
	char unleased[sizeof(((struct err *)0)->text)]; /* why the domain starts without leases; "": with leases */
};

/*
 * Plans the operation. 0 without steps: no plan is needed. Negative: refused before any plan, or the host cannot be
 * read; err_denied(err->code): only root may read what a refusal depends on. `lifecycle` must outlive the preview.
 */
int preview_make(struct preview *preview, const struct lifecycle *lifecycle, enum plan_mode mode, struct err *err);

/* Plans world->asked as preview_make() does. Reads the host only if survey_see() has not filled `world`. */
int preview_plan(struct plan *plan, struct world *world, struct err *err);

/*
 * Decides as the hook would, but never waits: plans, rewrites the XML, and checks whether the state could be written.
 * Negative: refused; the preview has the results of the steps before the error.
 */
int preview_decide(struct preview *preview, const struct lifecycle *lifecycle, enum plan_mode mode, struct err *err);

void preview_end(struct preview *preview);

#define autopreview __attribute__((cleanup(preview_end)))

/* Prints what `release end` would do with the domain's leases. With `id`, only with the lease of this vGPU. */
int preview_release(FILE *to, const struct store *store, const char *domain, const char *id, struct err *err);

/* Adds why the domain starts without leases, why no vGPU can be created, and what the hook would wait for. */
void preview_remarks(struct remarks *out, const struct preview *preview, const char *op);

enum { PLAN_WHY_SIZE = 2 * REASON_SIZE + 2 };

/* What a step does: "keep", "adopt" or "create" at a start, "reserve" at an arrival. */
const char *plan_word(const struct step *step, enum plan_mode mode);

/*
 * Writes why this pGPU was not chosen for the request. False: it was chosen, the request names its device, or the plan
 * ended before the request.
 */
bool plan_not_chosen(const struct plan *plan, const struct world *world, size_t req, const struct inv_pgpu *card,
		     char why[PLAN_WHY_SIZE]);

/* A line for each removal, each step and a PLAN_WAIT; with `verdicts`, also why each other pGPU was not chosen. */
void plan_print(FILE *to, const struct plan *plan, const struct world *world, bool verdicts);
