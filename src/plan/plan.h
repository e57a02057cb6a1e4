/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The decision: which vGPU a domain gets, on which parent; or why it gets none.
 *
 * Pure: from the facts that it is handed it makes steps or one refusal. It does no I/O, reads no clock, knows no
 * errno; so every rule is a row in tests/unit/plan/plan_rows.h. A plan is tentative: the kernel's answer decides, and
 * what failed comes back as a fact (struct failed_attempt) into the next plan.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/owner.h"
#include "plan/world.h"

enum { PLAN_REMOVES_MAX = 64 };

enum step_kind { STEP_KEEP, STEP_ADOPT, STEP_CREATE };

/* What to do for one request; for migrate and restore, what is reserved for it. */
struct step {
	enum step_kind kind;
	struct vgpu_ref vgpu;
	enum owner owner; /* whose it is when the hook has created it */
	int numa;
	int framebuffer_mib;
	const struct section *section; /* of the pool; NULL for a device outside it */
	char why[REASON_SIZE];         /* one clause for people: why this parent */
};

/* Why a pGPU was not chosen for a request. */
struct verdict {
	size_t req;
	const struct inv_pgpu *card;
	bool elsewhere; /* it serves another type of the request's, for which there is a verdict of its own */
	enum cause cause;
	char reason[REASON_SIZE]; /* without a name of the card or the vGPU */
	char fix[REASON_SIZE];    /* a command for this very card; "" none */
};

enum plan_kind {
	PLAN_STEPS,  /* do them */
	PLAN_WAIT,   /* no capacity now, but creations or releases are in flight: ask again */
	PLAN_LOOK,   /* no capacity: look for reclaimable devices, ask again */
	PLAN_REMOVE, /* remove these reclaimable devices, ask again */
	PLAN_REFUSE,
};

struct plan {
	enum plan_kind kind;
	struct step *steps; /* one for each request; of a placeholder that is refused, too */
	size_t nsteps;
	char removes[PLAN_REMOVES_MAX][ID_SIZE];
	size_t nremoves; /* of PLAN_REMOVE, and of a placeholder that is refused */
	size_t nquota;   /* the last of them are leases that go for the quota's sake, on whatever pGPU */
	struct verdict *verdicts;
	size_t nverdicts, verdict_size;
	bool no_capacity; /* of a refusal: another time there could be */
	bool no_config;   /* of a refusal: what is missing is a valid configuration */
	bool no_quota;    /* of a refusal: the project has all that it may have */
	size_t refused_vgpu;
	char warning[256]; /* for the log, whatever the plan is; "" none */
	char text[3072];   /* of a refusal: device, cause and cure; the domain is named by the caller */
	size_t why;        /* so many bytes of it are the causes, and what is behind them the cure; 0: not told apart */
};

void plan_make(struct plan *plan, const struct world *world);
void plan_free(struct plan *plan);

/* Why the card has no vGPU for a hostdev of this kind, whatever it serves; NULL: it has. */
const char *plan_other_kind(const struct world *world, const struct inv_pgpu *card, const struct vgpu_request *req);
