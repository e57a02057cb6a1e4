/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Decides whether a lease, a vGPU without a lease, or an mdevctl definition without a device stays, or may be released
 * or removed without a request. An unknown fact counts as a reason to stay.
 *
 * A leased vGPU may go once its domain no longer runs or has lost it, no process has it open, and no process works on
 * it. An orphan is a device that was made for a guest (history.h) and has a type. It is not open, no lease and no
 * domain's XML on disk names it, mdevctl does not start it, and it has been idle for reclaim_grace since its last sign
 * of use: its creation, an open file, a domain that names it, or the end of a lease. A device that was not made for a
 * guest was created in advance: it and its definition are kept, unless `unused` is set. A device of Nova may go even if
 * mdevctl starts it, because Nova defines all its devices to start at boot.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"
#include "model/lease.h"

struct fate {
	bool goes;             /* the lease may be released, or the orphan removed */
	bool free;             /* device: no domain, open file or mdevctl keeps it, only its age, origin or `reclaim` */
	char why[REASON_SIZE]; /* the reason, whether it goes or stays */
	int64_t due_ms;        /* when it may go if only its age keeps it; FATE_KEPT; 0: unknown */
	int64_t again_ms;      /* for a lease that stays: when to judge it again; 0: not before an event */
};

/* The device was not made for a guest, so only a pass with `unused` removes it, after reclaim_grace. */
enum { FATE_KEPT = -1 };

/* All times are CLOCK_MONOTONIC, in ms. A text is NULL if it does not apply. */
struct lease_facts {
	const struct lease *lease;
	const struct policy *policy;
	int64_t now_ms;
	int64_t looked_ms;    /* when the facts were read, or earlier; the facts say nothing about a newer lease */
	enum presence exists; /* whether the device exists */
	const char *unseen;   /* why `exists` is not known */
	const char *open;     /* which process has the device open, or why that is not known */
	bool runs;            /* the domain runs */
	bool has;             /* the domain runs with the device, or may do so */
	bool had;             /* an earlier look saw the domain with the device, under this very lease */
	const char *unread;   /* why it is not known whether the domain runs */
	bool at_work;         /* a process creates, takes over or removes the device */
};

void fate_of_lease(struct fate *fate, const struct lease_facts *facts);

/* About a device, or about a definition without a device (`alone`). */
struct orphan_facts {
	const struct policy *policy;
	int64_t now_ms;
	bool alone;
	bool typed;            /* its type is known */
	const char *named;     /* which domain names it, or why that is not known */
	const char *open;      /* which process has it open, or why that is not known */
	const char *kept;      /* how mdevctl keeps it, or why that is not known */
	bool defined;          /* mdevctl has a definition of it */
	bool nova;             /* Nova counts it as its own */
	bool for_guest;        /* it was made for a guest */
	bool unused;           /* devices that were not made for a guest may also go */
	int64_t idle_ms;       /* since when it has been idle */
	int64_t definition_ms; /* when a definition without a device was written */
};

void fate_of_orphan(struct fate *fate, const struct orphan_facts *facts);

/* A vGPU in the XML of a running domain. */
struct attached_facts {
	const struct lease *lease; /* NULL: none */
	const char *domain;        /* the domain's UUID */
	int64_t now_ms, grace_ms;  /* a lease younger than grace_ms may just be changing */
	int64_t looked_ms;         /* when libvirt's status files were read, or earlier */
	bool settled;              /* the domain is not being started, migrated or stopped */
	bool exists;               /* in the kernel, with a type */
	int open;                  /* 1: a process has it open; 0: no process has; negative: not known */
	bool at_work;              /* a process works on the lease */
};

/* Leave the vGPU as it is; lease it to the domain that has it; or only report a fault that is not ours to correct. */
enum attached { ATTACHED_LEAVE, ATTACHED_LEASE, ATTACHED_REPORT };

enum attached fate_of_attached(const struct attached_facts *facts, char why[REASON_SIZE]);
