/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Decides whether a lease, a device without a lease, or an mdevctl definition without a device may be released or
 * removed. An unknown fact is a reason to keep it.
 *
 * A lease may be released once its domain does not have the vGPU, no process has the vGPU open, and no process works on
 * the lease.
 *
 * An orphan may be removed. It was made for a guest (history.h), its type is known, no lease or domain's XML names it,
 * and no process has it open. mdevctl does not start it at boot, unless Nova owns it: Nova defines all its mdevs to
 * start at boot. For reclaim_grace it had no sign of use: a creation, a lease, an open file, or a domain that names it.
 *
 * A device that was not made for a guest may be removed if `unused` is set.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"
#include "model/lease.h"

struct fate {
	bool goes;             /* the lease may be released, or the orphan removed */
	bool free;             /* a device of a known type that no domain, process or mdevctl keeps */
	char why[REASON_SIZE]; /* the reason, whether it goes or stays */
	int64_t due_ms;        /* if the lease stays, when to judge it again; 0: after an event */
	int64_t again_ms;      /* when to judge a lease that stays again; 0: not before an event */
};

/* A value of due_ms: the device was not made for a guest, so only a pass with `unused` removes it. */
enum { FATE_KEPT = -1 };

/* All times are CLOCK_MONOTONIC, in ms. A text is NULL if it does not apply. */
struct lease_facts {
	const struct lease *lease;
	const struct policy *policy;
	int64_t now_ms;
	int64_t looked_ms; /* a time before the facts were read; a lease written since then stays */
	enum presence exists;
	const char *unseen; /* why `exists` is PRESENCE_UNKNOWN */
	const char *open;   /* which process has the device open, or why that is not known */
	bool runs;
	bool has;           /* the domain runs with the device, or may have it */
	bool had;           /* an earlier look found the domain with the device, under the present lease */
	const char *unread; /* why it is not known whether the domain runs */
	bool at_work;       /* a process creates, takes over or removes the device */
};

void fate_of_lease(struct fate *fate, const struct lease_facts *facts);

/* A device without a lease, or (`alone`) an mdevctl definition without a device. */
struct orphan_facts {
	const struct policy *policy;
	int64_t now_ms;
	bool alone;
	bool typed;        /* its type is known */
	const char *named; /* which domain names it, or why that is not known */
	const char *open;  /* which process has it open, or why that is not known */
	const char *kept;  /* how mdevctl keeps it, or why that is not known */
	bool defined;
	bool nova; /* Nova counts it as its own */
	bool for_guest;
	bool unused;           /* also remove devices that were not made for a guest */
	int64_t idle_ms;       /* the start of its idle time */
	int64_t definition_ms; /* when a definition without a device was written */
};

void fate_of_orphan(struct fate *fate, const struct orphan_facts *facts);

/* A vGPU in the XML of a running domain. */
struct attached_facts {
	const struct lease *lease; /* NULL none */
	const char *domain;        /* the domain's UUID */
	int64_t now_ms, grace_ms;  /* a lease younger than grace_ms is left as it is */
	int64_t looked_ms;         /* a time before libvirt's status files were read */
	bool settled;              /* the domain is not being started, migrated or stopped */
	bool exists;               /* in the kernel, with a type */
	int open;                  /* 1: open; 0: closed; negative: not known */
	bool at_work;              /* a process works on the lease */
};

/* What to do: nothing; lease the vGPU to the domain that has it; report a fault that the operator must correct. */
enum attached { ATTACHED_LEAVE, ATTACHED_LEASE, ATTACHED_REPORT };

enum attached fate_of_attached(const struct attached_facts *facts, char why[REASON_SIZE]);
