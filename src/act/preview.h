/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What an operation would do: its survey, its plan, the plan in words, and the XML that the domain would get. Writes
 * nothing.
 *
 * For the hook's --dry-run, `vgpu-lease plan`, `rewrite`, `check`, the choice of a VF to attach and, in words, the log.
 */
#pragma once

#include <stdio.h>

#include "act/lifecycle.h"
#include "act/rewrite.h"

/* Must be zero before preview_make(), and must be ended with preview_end() or `autopreview`. */
struct preview {
	const struct lifecycle *lifecycle; /* NULL: not made */
	struct store store;
	struct world world;
	struct plan plan;
	struct rewritten rewritten;
	char unleased[sizeof(((struct err *)0)->text)]; /* why the domain starts without lease and plan; "" none */
};

/*
 * Makes the plan, whose kind says whether it can be carried out. A plan without steps would change nothing. Negative:
 * the operation is refused before any plan, or the host cannot be read. `lifecycle` must outlive the preview.
 */
int preview_make(struct preview *preview, const struct lifecycle *lifecycle, enum plan_mode mode, struct err *err);

/* Plans a request of `world` as preview_make() does. Does not read a host again that survey_see() has read. */
int preview_plan(struct plan *plan, struct world *world, struct err *err);

/*
 * Makes the plan and `rewritten`, and checks the state that the hook would write. Decides as the hook would, but does
 * not wait for locks. After a failure, the preview holds what was made before the failure.
 */
int preview_decide(struct preview *preview, const struct lifecycle *lifecycle, enum plan_mode mode, struct err *err);

void preview_end(struct preview *preview);

#define autopreview __attribute__((cleanup(preview_end)))

/* Prints what `release end` would do with the domain's leases. With `id`, only with the lease of this vGPU. */
int preview_release(FILE *to, const struct store *store, const char *domain, const char *id, struct err *err);

/* Adds the reason why nothing can be leased, if any, and the locks that the hook would wait for. */
void preview_remarks(struct remarks *out, const struct preview *preview, const char *op);

enum { PLAN_WHY_SIZE = 2 * REASON_SIZE + 2 };

/* What a step does: "keep", "adopt" or "create" at a start, "reserve" in the other modes. */
const char *plan_word(const struct step *step, enum plan_mode mode);

/*
 * Why this pGPU was not chosen for this request. False: the pGPU was chosen, there was no choice (the device exists),
 * or the plan ended before this request.
 */
bool plan_not_chosen(const struct plan *plan, const struct world *world, size_t req, const struct inv_pgpu *card,
		     char why[PLAN_WHY_SIZE]);

/*
 * Prints a line for each removal and each step: the same text in `plan`, in a dry run and, at debug level, in the
 * journal. With `verdicts`, also prints why each other pGPU was not chosen.
 */
void plan_print(FILE *to, const struct plan *plan, const struct world *world, bool verdicts);
