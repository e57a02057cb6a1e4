/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Decides whether a lease, a device without a lease, or an mdevctl definition without a device may go. Each stays if a
 * fact about it is not known.
 *
 * A lease may go if its domain does not have the vGPU, no process has it open, and no process works on the lease.
 *
 * A device without a lease is an orphan, and may go, if:
 *   it was made for a guest (history.h), and its type is known
 *   no domain's XML names it, and no process has it open
 *   mdevctl does not start it at boot, or Nova owns it (Nova defines all its mdevs to start at boot)
 *   it had no sign of use for reclaim_grace: a creation, a lease, an open file, or a domain that names it
 *
 * With `unused`, a device that was not made for a guest may also be removed.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"
#include "model/lease.h"

struct fate {
	bool goes; /* the lease may be released, or the orphan removed */
	bool free; /* only in a wide world: the type is known, and no domain, process or mdevctl keeps the device */
	char why[REASON_SIZE]; /* why it may be released or removed, or why it stays */
	int64_t due_ms;        /* when start_grace or reclaim_grace ends; 0: not set; or FATE_KEPT */
	int64_t again_ms;      /* a lease that stays: when to judge it again; 0: only after an event */
};

/* A value of due_ms: only a pass with `unused` removes the device. */
enum { FATE_KEPT = -1 };

/* Times are CLOCK_MONOTONIC in ms. A text is NULL if it does not apply. */
struct lease_facts {
	const struct lease *lease;
	const struct policy *policy;
	int64_t now_ms;
	int64_t looked_ms; /* before the facts were read; a creating or active lease written later stays */
	enum presence exists;
	const char *unseen; /* why `exists` is PRESENCE_UNKNOWN; "": unknown */
	const char *open;   /* which process has the device open, or why that is not known */
	bool runs;
	bool has;           /* the domain runs with the device, or may have it */
	bool had;           /* under this lease, an earlier look found the domain with the device */
	const char *unread; /* why it is not known whether the domain runs; NULL: it is known */
	bool at_work;       /* a process creates, takes over or removes the device */
};

void fate_of_lease(struct fate *fate, const struct lease_facts *facts);

/* A device without a lease, or (`alone`) an mdevctl definition without a device. */
struct orphan_facts {
	const struct policy *policy;
	int64_t now_ms;
	bool alone;
	bool typed;        /* the type is known */
	const char *named; /* which domain names the device, or why that is not known; likewise `open` and `kept` */
	const char *open;
	const char *kept; /* by mdevctl */
	bool defined;
	bool nova; /* Nova counts the device as its own */
	bool for_guest;
	bool unused;           /* devices that were not made for a guest may be removed */
	int64_t idle_ms;       /* when the idle time began */
	int64_t definition_ms; /* when a definition without a device was written */
};

void fate_of_orphan(struct fate *fate, const struct orphan_facts *facts);

/* A vGPU in the XML of a running domain. */
struct attached_facts {
	const struct lease *lease; /* NULL: none */
	const char *domain;        /* the domain's UUID */
	int64_t now_ms, grace_ms;  /* a lease younger than grace_ms is not changed */
	int64_t looked_ms;         /* before libvirt's status files were read */
	bool settled;              /* no start, migration or stop is in progress */
	bool exists;               /* the kernel has the device, and it has a type */
	int open;                  /* 1: open; 0: closed; negative: not known */
	bool at_work;
};

/* ATTACHED_LEASE: lease it to the domain that has it; ATTACHED_REPORT: tell the operator of the conflict. */
enum attached { ATTACHED_LEAVE, ATTACHED_LEASE, ATTACHED_REPORT };

enum attached fate_of_attached(const struct attached_facts *facts, char why[REASON_SIZE]);
