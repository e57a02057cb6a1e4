/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * All that a decision rests on: what the host has, who holds what, what is asked for, what was tried. src/survey fills
 * it in and plan reads it; what plan has no use for stands last.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/config.h"
#include "domain/domxml.h"
#include "host/inventory.h"
#include "plan/pool.h"
#include "state/history.h"
#include "state/lease_store.h"

enum { RESOLVED_TYPES_MAX = 16 };

/* Who says which type a vGPU is to have. */
enum type_source {
	TYPE_UNSAID,
	TYPE_ASKED,      /* the domain's metadata: an existing device must be of it */
	TYPE_DEFINED,    /* its mdevctl definition */
	TYPE_REMEMBERED, /* its last lease here */
	TYPE_POOLED,     /* nobody: the pool has only this one */
	TYPE_SERVED,     /* nobody: the VF serves only this one */
};

/* What is known of a request beyond the XML: its possible types, its last parent, the NUMA nodes that suit it. */
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
 * Why a pGPU can have no vGPU of a type now. A refusal names cards with the same cause and reason together; the cause
 * decides what to do (plan_text.c).
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

/* After a failed removal a card has the capacity that it had before. */
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

/* Idle: the section takes all cards. Remembered: likewise, and vGPUs of its type have been there. */
enum missing_how { MISSING_NAMED, MISSING_MATCHED, MISSING_IDLE, MISSING_REMEMBERED };

/* A card that the configuration means for a type, and that makes no vGPUs here. */
struct missing_card {
	enum missing_how how;
	const struct section *section;
	struct location at; /* in the files: of the address, of the match */
	char address[PARENT_SIZE];
	char reason[REASON_SIZE]; /* and what to do */
};

enum plan_mode {
	PLAN_PREPARE,
	PLAN_MIGRATE,
	PLAN_RESTORE,
	PLAN_ASSIGN, /* VFs alone, for a definition or an attach: a VF that a start cannot have becomes another */
};

/* How much is read. */
enum survey_depth {
	SURVEY_START,     /* the types, cards and frameworks that the request and the leases can concern */
	SURVEY_INVENTORY, /* every type of every card */
	SURVEY_EXPLAIN,   /* also what a refusal names: cards of other frameworks and types, cards that are missing */
	SURVEY_RECLAIM,   /* also what may be removed to make capacity: a look at all processes and libvirt's files */
};

struct world {
	/* Set by the caller, and must outlive it. */
	const struct host *host;
	struct store *store;
	const struct config *config; /* NULL: none is in effect; devices that exist are still adopted */
	const char *why_no_config;   /* and why, with what to do */
	const struct request *asked; /* as the domain has it */
	enum plan_mode mode;
	enum survey_depth depth; /* of the next read */
	int64_t deadline_ms;     /* of the operation (sys_now_ms()); 0 none */
	bool dry;                /* write nothing, not even since when a device has been seen free */

	const struct request *request;              /* as it is served here: with what crosses to another framework */
	struct resolved_request *resolved_requests; /* one for each request->vgpus */
	struct inventory inv;
	struct leases leases; /* without those that are void */
	int libvirt;          /* its version, 9007000 is 9.7.0; 0 where it cannot be told */
	struct failed_attempt *failed_attempts;
	size_t nfailed_attempts;
	struct failure *failures; /* of other runs, a while ago: those candidates come last */
	size_t nfailures;
	/* May be removed to make capacity: orphans, and vGPUs of ours whose domain is gone. */
	char (*reclaimable)[ID_SIZE];
	size_t nreclaimable;
	bool reclaimable_known;             /* the search for what could make capacity has been made */
	struct missing_card *missing_cards; /* looked for together with reclaimable devices: for the refusal alone */
	size_t nmissing_cards;

	/* The survey's own. */
	struct request changed;     /* the request, its vGPUs owned; unused where nothing changes its framework */
	const char **types;         /* that were read, in one allocation; those of SURVEY_INVENTORY are not all here */
	bool some_cards;            /* of PCI hostdevs only the cards of those that the request names were read */
	struct leases void_leases;  /* nothing stands behind these any more */
	struct vfio_users *users;   /* NULL until somebody asked */
	struct libvirt_files *disk; /* likewise */
	int64_t looked_ms;          /* CLOCK_MONOTONIC before these were read */
	char (*looked_at)[ID_SIZE]; /* the mdevs that there were then, each of which can have been found open */
	size_t nlooked_at;
	bool asks;              /* a rule asks who has a device open, */
	bool unseen;            /* and nobody has looked since that came: it is not known */
	char (*stuck)[ID_SIZE]; /* could not be removed in this run */
	size_t nstuck;
};
