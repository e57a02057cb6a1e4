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

#include "config/config.h"
#include "domain/domxml.h"
#include "host/inventory.h"
#include "model/owner.h"
#include "state/lease_store.h"
#include "plan/pool.h"
#include "state/history.h"

enum { RESOLVED_TYPES_MAX = 16, PLAN_REMOVES_MAX = 64 };

/* Who says which type a vGPU is to have. */
enum type_source {
	TYPE_UNSAID,
	TYPE_ASKED,      /* the domain's metadata: an existing device must be of it */
	TYPE_DEFINED,    /* its mdevctl definition */
	TYPE_REMEMBERED, /* its last lease here */
	TYPE_POOLED,     /* nobody: the pool has only this one */
	TYPE_SERVED,     /* nobody: the VF serves only this one */
};

/* What is known of one request beyond the XML: its type candidates, where it was, what NUMA nodes suit it. */
struct resolved_request {
	const struct vgpu_request *req;
	char types[RESOLVED_TYPES_MAX]
		  [TYPE_SIZE]; /* any of these, the first that has capacity; none: nothing says which */
	int ntypes;
	enum type_source source;
	char called[LABEL_SIZE]; /* asked for by this name: on a card where the ID has another it is another type; "" */
	char was[TYPE_SIZE];     /* its last lease was of this type, which is no longer enabled; "" */
	bool defined;            /* mdevctl has a definition of its UUID */
	char fresh[UUID_SIZE];   /* the UUID to use where a new one is needed */
	char last_parent[PARENT_SIZE]; /* where it was when it was last leased, or mdevctl's definition has it; "" */
	uint64_t nodes;                /* NUMA nodes that suit; 0 any */
	char absent[REASON_SIZE];      /* of a VF that the inventory has not: why; "" */
};

/*
 * Why a pGPU can have no vGPU of a type now. Those whose cause and reason are the same are told of together; what to do
 * goes by the cause: see plan_text.c.
 */
enum cause {
	CAUSE_IN_USE,      /* by as many as it can carry */
	CAUSE_CAP,         /* max_instances */
	CAUSE_BLOCKED,     /* by vGPUs of another size */
	CAUSE_NO_INSTANCE, /* no GPU instance is free for a MIG-backed type */
	CAUSE_UNSUITED,    /* its free VFs are none for the hostdev */
	CAUSE_FAILED,      /* when it was tried */
	CAUSE_NO_OFFER,    /* the driver offers none, and nothing that is known stands in the way */
	CAUSE_OTHER_KIND,  /* it makes mdevs for a hostdev of type pci, or VFs for one of type mdev */
	CAUSE_UNREADY,     /* it is not in the pool now */
	CAUSE_ABSENT,      /* the host does not have it */
	CAUSE_OTHER_TYPE,  /* the configuration has it serve another type */
};

/* A removal that failed leaves a card what it can carry without that, and makes no capacity there. */
enum failed_part { FAILED_CARD, FAILED_VF, FAILED_REMOVAL };

/* A candidate that failed in this run: passed over, and named in the refusal. */
struct failed_attempt {
	enum failed_part part;
	char pgpu[PARENT_SIZE];
	char parent[PARENT_SIZE]; /* of a VF that alone failed, with any type; "" else */
	char type[TYPE_SIZE];
	enum cause cause;
	char reason[REASON_SIZE];
};

/* A device that may be removed to make capacity: an orphan, or one of ours whose domain is gone. */
struct reclaimable {
	char id[ID_SIZE];
};

/* Idle: the section takes all cards. Remembered: likewise, and vGPUs of its type have been there. */
enum missing_how { MISSING_NAMED, MISSING_MATCHED, MISSING_IDLE, MISSING_REMEMBERED };

/* A card that the configuration means for a type, and that makes no vGPUs here. */
struct missing_card {
	enum missing_how how;
	const struct section *section;
	struct place at; /* in the files: of the address, of the match */
	char address[PARENT_SIZE];
	char reason[REASON_SIZE]; /* and what to do */
};

enum plan_mode {
	PLAN_PREPARE,
	PLAN_MIGRATE,
	PLAN_RESTORE,
	PLAN_ASSIGN, /* VFs alone, for a definition or an attach: a VF that a start cannot have becomes another */
};

struct plan_facts {
	enum plan_mode mode;
	const struct config *config; /* NULL: none is in effect; devices that exist are still adopted */
	const char *why_no_config;   /* and why, with what to do */
	const struct inventory *inv;
	const struct pool *pool;     /* NULL without configuration */
	const struct leases *leases; /* without those that are void */
	int libvirt;                 /* its version, 9007000 is 9.7.0; 0 where it cannot be told */
	const struct request *request;
	const struct resolved_request *resolved_requests; /* one for each request->vgpus */
	const struct failed_attempt *failed_attempts;
	size_t nfailed_attempts;
	const struct failure *failures; /* of other runs, a while ago: those candidates come last */
	size_t nfailures;
	const struct reclaimable *reclaimable;
	size_t nreclaimable;
	bool reclaimable_known; /* the search for what could make capacity has been made */
	const struct missing_card
		*missing_cards; /* looked for together with reclaimable devices: for the refusal alone */
	size_t nmissing_cards;
};

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

void plan_make(struct plan *plan, const struct plan_facts *facts);
void plan_free(struct plan *plan);

/* Why this card can have no vGPU for the hostdev, whatever it serves: the hostdev is of another kind. NULL: it can. */
const char *plan_other_kind(const struct plan_facts *facts, const struct inv_pgpu *card,
			    const struct vgpu_request *req);
