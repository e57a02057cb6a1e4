/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What an operation would do: its survey, its plan, and the XML that the domain would get. Writes nothing.
 *
 * Everything that needs a plan without carrying it out uses this: the hook's --dry-run, `vgpu-lease plan`, `rewrite`,
 * `check`, and the choice of a VF to attach.
 */
#pragma once

#include <stdio.h>

#include "ops/lifecycle.h"
#include "ops/rewrite.h"

/* Zero it before preview_make(), and always end it with preview_end() or `autopreview`. */
struct preview {
	const struct lifecycle *lifecycle; /* NULL: not made */
	struct store store;
	struct world world;
	struct plan plan;
	struct rewritten rewritten;
	char unleased[sizeof(((struct err *)0)->text)]; /* why the domain starts without lease and plan; "" otherwise */
};

/*
 * Makes the plan. Its kind says whether it can be carried out; a plan without steps would change nothing. Negative: the
 * operation is refused before any plan, or the host cannot be read. `lifecycle` must outlive the preview.
 */
int preview_make(struct preview *preview, const struct lifecycle *lifecycle, enum plan_mode mode, struct err *err);

/* Plans a request of `world` as preview_make() does. A host that survey_see() has read is not read again. */
int preview_plan(struct plan *plan, struct world *world, struct err *err);

/*
 * Makes the plan and `rewritten`, and checks the state that the hook would write: decides as the hook would, but waits
 * for no lock. After a failure, the preview holds what was made until then.
 */
int preview_decide(struct preview *preview, const struct lifecycle *lifecycle, enum plan_mode mode, struct err *err);

void preview_end(struct preview *preview);

#define autopreview __attribute__((cleanup(preview_end)))

/* Prints what `release end` would do with the domain's leases, or only with the lease of `id` if `id` is not NULL. */
int preview_release(FILE *to, const struct store *store, const char *domain, const char *id, struct err *err);

/* Adds remarks: why nothing can be leased, if so, and which locks the hook would wait for. */
void preview_remarks(struct remarks *out, const struct preview *preview, const char *op);
