/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Decides which vGPU a domain gets and on which parent, or why it gets none. Each rule is a row in
 * tests/unit/decide/plan_rows.h. A step can fail in the kernel; the next plan then has a struct failed_attempt.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/lease.h"
#include "look/world.h"

enum { PLAN_REMOVES_MAX = 64 };

enum step_kind { STEP_KEEP, STEP_ADOPT, STEP_CREATE };

/* What to do for one request; in migrate and restore, what to reserve for it. */
struct step {
	enum step_kind kind;
	struct vgpu_ref vgpu;
	enum owner owner; /* the vGPU's owner if the hook creates it */
	int numa;
	int framebuffer_mib;
	const struct section *section; /* of the type; NULL: the device is outside the pool */
	char why[REASON_SIZE];         /* why this parent was chosen, as a clause of a message */
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
	PLAN_STEPS,
	PLAN_WAIT,   /* creations or releases are in progress: wait, plan again */
	PLAN_REMOVE, /* remove these reclaimable devices, plan again */
	PLAN_REFUSE, /* final only if the world is `wide`: a wide survey may find something to remove */
};

struct plan {
	enum plan_kind kind;
	struct step *steps; /* one for each request; also set in the refusal of a placeholder */
	size_t nsteps;
	char removes[PLAN_REMOVES_MAX][ID_SIZE];
	size_t nremoves; /* in PLAN_REMOVE, and in the refusal of a placeholder */
	size_t nquota;   /* the last `nquota` of `removes` are leases that are removed for the quota */
	struct verdict *verdicts;
	size_t nverdicts;
	bool no_capacity; /* refusal: capacity may be available later */
	bool no_config;
	bool no_quota;
	bool in_use; /* refusal: another domain or a process has the vGPU, or its IOMMU group */
	size_t refused_vgpu;
	char warning[256]; /* for the log, in any kind of plan; "" none */
	char text[1024];   /* refusal: causes and fix; the caller adds the names of domain and device */
	size_t why;        /* the length of the causes in `text`, before the fix; 0: not separated */
};

void plan_make(struct plan *plan, const struct world *world);
void plan_free(struct plan *plan);

/* Is every vGPU of this card unsuitable for the hostdev? Sets `why` to the reason, or to "". */
bool plan_other_kind(const struct world *world, const struct inv_pgpu *card, const struct vgpu_request *req,
		     char why[REASON_SIZE]);
