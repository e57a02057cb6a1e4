/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Everything that a decision depends on. survey.c fills struct world, and decide/ reads it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/config.h"
#include "look/inventory.h"
#include "look/pool.h"
#include "state/history.h"
#include "state/store.h"

enum { RESOLVED_TYPES_MAX = 64 };

enum type_source {
	TYPE_UNSAID,
	TYPE_ASKED,      /* the domain's metadata; an existing device must match it */
	TYPE_RESERVED,   /* the reservation of the domain's arrival */
	TYPE_DEFINED,    /* the vGPU's mdevctl definition */
	TYPE_REMEMBERED, /* the vGPU's last lease on this host */
	TYPE_POOLED,     /* the pool's only type */
	TYPE_SERVED,     /* the VF's only type */
};

/* What this host knows about a vGPU of the request. */
struct resolved_request {
	const struct vgpu_request *req;
	char types[RESOLVED_TYPES_MAX][TYPE_SIZE]; /* the possible types, in order of preference; ntypes 0: not known */
	int ntypes;
	enum type_source source;
	char called[LABEL_SIZE];  /* the name that a card's type must have; "": any name */
	char reserved[TYPE_SIZE]; /* the type of the domain's reservation of this vGPU; "": none */
	/* The type of the last lease, if it is not enabled any more, or the VF has another card now; "": none */
	char was[TYPE_SIZE];
	char was_card[INV_IDENTITY_SIZE]; /* if `was` is of a VF: the card in that lease */
	bool defined;                     /* mdevctl defines the UUID */
	char fresh[UUID_SIZE];            /* a new UUID, in case the mdev cannot have its requested UUID */
	char last_parent[PARENT_SIZE];    /* the parent in the last lease or mdevctl definition; "": none */
	uint64_t nodes;                   /* mask of the suitable NUMA nodes; 0: any */
	char absent[REASON_SIZE];         /* why the inventory does not have the VF; "": none */
};

/* True if the type is one of the request's types, or the request has none. */
static inline bool resolve_fits(const struct resolved_request *resolved, const char *type)
{
	return resolved->ntypes == 0 || text_find(resolved->types, (size_t)resolved->ntypes, TYPE_SIZE, type);
}

/* Why a pGPU cannot have a vGPU of a type now. In a refusal, the cause that is easiest to remove comes first. */
enum cause {
	CAUSE_IN_USE,
	CAUSE_CAP,         /* max_instances is reached */
	CAUSE_BLOCKED,     /* by vGPUs of another size or type */
	CAUSE_NO_INSTANCE, /* no GPU instance is free for a MIG-backed type */
	CAUSE_UNSUITED,    /* no free VF suits the hostdev, or libvirt is too old for it */
	CAUSE_FAILED,
	CAUSE_NO_OFFER, /* the driver does not offer the type; the reason is unknown */
	/* An mdev card for a hostdev of type pci, a VF card for type mdev, or the domain has the whole card. */
	CAUSE_OTHER_KIND,
	CAUSE_UNREADY, /* not in the pool now */
	CAUSE_ABSENT,
	CAUSE_OTHER_TYPE, /* configured for another type, or the ID means another type on this card */
};

/* A candidate that failed in this run. Later plans skip it, and a refusal names it. */
struct failed_attempt {
	char pgpu[PARENT_SIZE];   /* "": a removal failed, and every pGPU remains a candidate */
	char type[TYPE_SIZE];     /* "": every type */
	char parent[PARENT_SIZE]; /* the VF that failed, for every type; "": the whole pGPU */
	char removal[ID_SIZE];    /* the vGPU whose removal failed; a pGPU with capacity stays usable; "": none */
	enum cause cause;
	bool busy; /* the pGPU is only busy, so it is tried again if no other has capacity */
	char reason[REASON_SIZE];
};

enum missing_how {
	MISSING_NAMED,      /* its address is configured */
	MISSING_MATCHED,    /* a device_match selects it */
	MISSING_IDLE,       /* no card serves the type, and this GPU of the type's vendor provides nothing */
	MISSING_REMEMBERED, /* no card serves the type, and this parent had a vGPU of it */
};

/* A card that is configured for a type but provides no vGPUs here. */
struct missing_card {
	struct inv_pgpu card; /* what could be read of the card; `reason` says why it is missing, and the fix */
	enum missing_how how;
	const struct section *section;
	struct location at; /* the address or match in the configuration */
};

enum plan_mode {
	PLAN_PREPARE,
	PLAN_MIGRATE,
	PLAN_RESTORE,
	PLAN_ASSIGN, /* for a definition, an attach or a check; keeps a named VF that a start would accept */
};

struct world {
	/* Set by the caller. The data must outlive this struct. */
	const struct host *host;
	struct store *store;
	const struct config *config; /* if it is not valid, existing devices are still adopted */
	const struct request *asked; /* the request of the domain's XML; NULL: none, so the survey reads all cards */
	enum plan_mode mode;
	/*
	 * If true, the survey reads all cards and types, and act/ then marks what is reclaimable. If false, the survey
	 * reads only what the request and the leases refer to, or all cards if there is no request.
	 */
	bool wide;

	const struct request *request;              /* `asked`; for a migration, `changed` */
	struct resolved_request *resolved_requests; /* one for each of request->vgpus */
	struct inventory inv;
	struct leases leases;   /* without void leases */
	struct inv_type *names; /* the type names of the frameworks in `names_known` (INV_...) */
	size_t nnames;
	unsigned int names_known;
	int libvirt; /* libvirt's version, 9007000 is 9.7.0; 0: not known */
	struct failed_attempt *failed_attempts;
	size_t nfailed_attempts;
	struct failure *failures; /* of the last five minutes; a start tries such a pGPU last for that type */
	size_t nfailures;
	struct missing_card *missing_cards; /* set only if all cards were read */
	size_t nmissing_cards;

	/* Used only by the survey. */
	char (*defined_parents)[PARENT_SIZE]; /* parents with an mdevctl definition; NULL: not read yet, or none */
	size_t ndefined_parents;
	struct request changed; /* for a migration: a copy of `asked`, with this host's frameworks */
	struct leases void_leases;
	struct vfio_users *users;   /* NULL: not read yet */
	struct libvirt_files *disk; /* NULL: not read yet */
	int64_t looked_ms;          /* CLOCK_MONOTONIC just before `users` and `disk` were read */
	char (*looked_at)[ID_SIZE]; /* the mdevs that existed at `looked_ms` */
	size_t nlooked_at;
};
