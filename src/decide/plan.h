/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Decides which vGPU a domain gets, and on which parent. Each rule is a row in tests/unit/decide/plan_rows.h. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "model/lease.h"
#include "look/world.h"

enum { PLAN_REMOVES_MAX = 64 };

enum step_kind { STEP_KEEP, STEP_ADOPT, STEP_CREATE };

/* What to do for one request; for an arrival, what to reserve. */
struct step {
	enum step_kind kind;
	struct vgpu_ref vgpu;
	enum owner owner; /* the owner of a vGPU that the hook creates */
	int numa;
	int framebuffer_mib;
	const struct section *section; /* the type's section; NULL: the device is outside the pool */
	char why[REASON_SIZE];         /* why this parent was chosen, as part of a message */
};

/* Why a pGPU was not chosen for a request, or why a configured card is missing (CAUSE_ABSENT). */
struct verdict {
	size_t req;
	const struct inv_pgpu *card; /* of the inventory or of world.missing_cards */
	enum cause cause;
	char reason[REASON_SIZE]; /* without the names of card and vGPU */
	char fix[REASON_SIZE];    /* what to do, or the command that says it; "": none */
};

enum plan_kind {
	PLAN_STEPS,
	PLAN_WAIT,   /* a creation or release is in progress; wait and plan again */
	PLAN_REMOVE, /* remove the devices in `removes`, and plan again */
	PLAN_REFUSE, /* final only if world.wide is true, because a wide survey may find removals */
};

/* Why the domain gets no vGPU. REFUSED_FOR_GOOD: this host cannot serve the request as it is. */
enum refused {
	REFUSED_FOR_GOOD,
	REFUSED_CAPACITY, /* may be available later */
	REFUSED_QUOTA,
	REFUSED_CONFIG,
	REFUSED_IN_USE, /* another domain or a process has the vGPU, or its IOMMU group */
};

struct plan {
	enum plan_kind kind;
	struct step *steps; /* one for each request; also set if a placeholder is refused */
	size_t nsteps;
	char removes[PLAN_REMOVES_MAX][ID_SIZE];
	size_t nremoves; /* also set if a placeholder is refused */
	struct verdict *verdicts;
	size_t nverdicts;
	enum refused refused;
	size_t refused_vgpu;
	char warning[256]; /* for the log; "": none */
	char text[1024];   /* refusal: causes and fix; the caller adds the domain and the device */
	size_t why;        /* length of the causes in `text`, before the fix; 0: not known */
};

void plan_make(struct plan *plan, const struct world *world);
void plan_free(struct plan *plan);

/* Is every vGPU of this card unsuitable for the hostdev, and why? */
bool plan_other_kind(const struct world *world, const struct inv_pgpu *card, const struct vgpu_request *req,
		     char why[REASON_SIZE]);
