/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The decision: which vGPU a domain gets, on which parent; or why it gets none. Each rule is a row in
 * tests/unit/plan/plan_rows.h. A plan is tentative: the kernel decides, and a failure becomes a fact (struct
 * failed_attempt) for the next plan.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/lease.h"
#include "plan/world.h"

enum { PLAN_REMOVES_MAX = 64 };

enum step_kind { STEP_KEEP, STEP_ADOPT, STEP_CREATE };

/* What to do for one request; in migrate and restore, what to reserve for it. */
struct step {
	enum step_kind kind;
	struct vgpu_ref vgpu;
	enum owner owner; /* the owner once the hook has created the vGPU */
	int numa;
	int framebuffer_mib;
	const struct section *section; /* the section of the type; NULL for a device outside the pool */
	char why[REASON_SIZE];         /* why this parent, as one clause for people */
};

/* Why a pGPU was not chosen for a request. */
struct verdict {
	size_t req;
	const struct inv_pgpu *card;
	bool elsewhere; /* the card serves only another requested type, which has its own verdict */
	enum cause cause;
	char reason[REASON_SIZE]; /* does not name the card or the vGPU */
	char fix[REASON_SIZE];    /* a command for this card; "" none */
};

enum plan_kind {
	PLAN_STEPS,  /* do the steps */
	PLAN_WAIT,   /* creations or releases are in progress: wait, plan again */
	PLAN_REMOVE, /* remove these reclaimable devices, plan again */
	PLAN_REFUSE, /* final only if the world is `wide`: else something may be removed to make capacity */
};

struct plan {
	enum plan_kind kind;
	struct step *steps; /* one for each request; also set in the refusal of a placeholder */
	size_t nsteps;
	char removes[PLAN_REMOVES_MAX][ID_SIZE];
	size_t nremoves; /* in PLAN_REMOVE, and in the refusal of a placeholder */
	size_t nquota;   /* the last `nquota` removes are leases to remove for the quota, on any pGPU */
	struct verdict *verdicts;
	size_t nverdicts;
	bool no_capacity; /* refusal: capacity may be available later */
	bool no_config;   /* refusal: there is no valid configuration */
	bool no_quota;    /* refusal: the project's quota is exhausted */
	bool in_use;      /* refusal: another domain or a process has the vGPU, or its IOMMU group */
	size_t refused_vgpu;
	char warning[256]; /* for the log, in any kind of plan; "" none */
	char text[1024];   /* refusal: causes and fix; the caller adds the names of domain and device */
	size_t why;        /* where the fix begins in `text`, after the causes; 0: not separated */
};

void plan_make(struct plan *plan, const struct world *world);
void plan_free(struct plan *plan);

/* True if no vGPU of this card, whatever its type, suits the hostdev. Sets `why` to the reason, or to "". */
bool plan_other_kind(const struct world *world, const struct inv_pgpu *card, const struct vgpu_request *req,
		     char why[REASON_SIZE]);
