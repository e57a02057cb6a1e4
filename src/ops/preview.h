/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What an operation would do: its survey, its plan, and the XML that the domain would get. Writes nothing.
 *
 * The one way to a plan that is not carried out: the hook's --dry-run, `vgpu-lease plan`, `rewrite`, `check`, and the
 * choice of a VF to attach. The print functions put it into words, one step a line.
 */
#pragma once

#include <stdio.h>

#include "ops/lifecycle.h"
#include "ops/rewrite.h"
#include "survey/remark.h"

enum { PREVIEW_WHY_SIZE = 2 * REASON_SIZE + 2 };

/* Zeroed before preview_make(); ended by preview_end(), or `autopreview`, in any case. */
struct preview {
	const struct lifecycle *lifecycle; /* NULL: not made */
	struct store store;
	struct world world;
	struct plan plan;
	struct rewritten rewritten;
	char unleased[sizeof(((struct err *)0)->text)]; /* why the domain starts without a lease; no plan then; or "" */
};

/*
 * Negative: the operation would be refused before any plan, or the host cannot be read. The plan's kind says whether it
 * can be carried out; a plan without steps leaves all as it is. `lifecycle` must outlive the preview.
 */
int preview_make(struct preview *preview, const struct lifecycle *lifecycle, enum plan_mode mode, struct err *err);

/* After a start that was previewed, another one, of the same configuration and host: that is not read again. */
int preview_again(struct preview *preview, const struct lifecycle *lifecycle, struct err *err);

/*
 * Makes `rewritten`, where the plan has a step for each vGPU or removes something first. Negative: the domain would be
 * refused, and why.
 */
int preview_rewrite(struct preview *preview, struct err *err);

/*
 * Both, and a look at the state that the hook would write: what the hook would decide, but for the locks, which nobody
 * waits for here. After a failure the preview has as much as can be told.
 */
int preview_decide(struct preview *preview, const struct lifecycle *lifecycle, enum plan_mode mode, struct err *err);

void preview_end(struct preview *preview);

#define autopreview __attribute__((cleanup(preview_end)))

/* Can the plan be carried out, now or when what it removes first is gone? */
bool preview_is_possible(const struct plan *plan);

/* What `release end` of a domain would do with each of its leases; `id`: with that one alone, NULL: all. */
int preview_release(FILE *to, const struct store *store, const char *domain, const char *id, struct err *err);

/* Prints the steps, what would be removed first, and with `verdicts` why each other pGPU was not chosen. */
void preview_print(FILE *to, const struct preview *preview, bool verdicts);

/* What is said beside a plan: that there is none, as nothing can be leased; which locks the hook would wait for. */
void preview_remarks(const struct preview *preview, const char *op, remark_say *say, void *arg);

/* What a step does: "keep", "adopt", "create", or for an arrival "reserve". */
const char *preview_word(const struct preview *preview, const struct step *step);

/*
 * Why this pGPU was not chosen for this request; false where it was, where nothing had to be chosen (the device
 * exists), or where the plan did not get that far.
 */
bool preview_not_chosen(const struct preview *preview, size_t req, const struct inv_pgpu *card,
			char why[PREVIEW_WHY_SIZE]);
