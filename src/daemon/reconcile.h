/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Compares leases, the kernel's devices, running domains and open files: records what the hooks could not see, and
 * finishes what they left.
 *
 *   - a running domain's device without a lease was hot-plugged by other software: it is adopted;
 *   - an active lease of a running domain whose live XML no longer has the device, and which no process has open, was
 *     unplugged: it is released, unless a suspend detached it, because a failed suspend or a resume attaches it again;
 *   - leases whose domain is gone, that have expired or are void are released (gc);
 *   - with nova_conf, Nova's orphans are removed with their definitions after reclaim_grace;
 *   - a device that is leased to one domain and runs in another, or is otherwise foreign, is reported and left alone.
 *
 * If in doubt, a pass does nothing: while a domain is being started, migrated or stopped, or if its XML or the users of
 * its device are unknown, everything stays until the next pass. A running guest is never touched, nor an open device.
 * The leases are the only state: a pass can be interrupted at any instant, and the next one finds what is left.
 *
 * The judgement (reconcile_device, reconcile_lease) is pure: it does no I/O and reads no clock.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ops/gc.h"
#include "config/config.h"
#include "domain/domxml.h"
#include "base/err.h"
#include "state/lease_store.h"
#include "state/store.h"

/* A domain that libvirt runs. */
struct live_domain {
	char uuid[UUID_SIZE];
	const struct request *request; /* from its live XML, with all PCI hostdevs; NULL: unavailable or invalid */
	const struct request *taken;   /* from the record of a suspend in it; NULL: none */
	bool settled;                  /* not in the middle of a start, a migration or a shutdown */
};

enum reconcile_verdict {
	RECONCILE_LEAVE,
	RECONCILE_ADOPT,   /* lease it to the domain that has it */
	RECONCILE_RELEASE, /* it was unplugged */
	RECONCILE_REPORT,  /* something is wrong, but not ours to correct */
};

/* A vGPU of a running domain: in its live XML, leased to it, or both. */
struct reconcile_view {
	const struct lease *lease; /* NULL: none */
	const char *domain;        /* its UUID */
	bool settled;              /* the domain is settled */
	bool at_work;              /* the lease's writer lives, and may be attaching or detaching it */
	int open;                  /* 1: a process has it open, 0: none, negative: unknown */
	int64_t now_ms, grace_ms;  /* the writer may still be working on a lease younger than grace_ms */
	int64_t looked_ms;         /* when libvirt was asked about the domain, or earlier */
	/* of a device in the live XML */
	bool exists; /* in the kernel, with a type */
	/* of a lease */
	bool known; /* the domain's live XML is available */
	bool named; /* the live XML has the device */
	bool taken; /* a suspend detached the device, and has neither saved the domain nor attached it again */
	bool seen;  /* an earlier pass saw it attached, under this very lease */
};

enum reconcile_verdict reconcile_device(const struct reconcile_view *view, char why[REASON_SIZE]);
enum reconcile_verdict reconcile_lease(const struct reconcile_view *view, char why[REASON_SIZE]);

/* Leases that an earlier pass has seen. A lease that was written again is a different one. */
struct lease_marks {
	struct lease_mark {
		char id[ID_SIZE];
		int64_t since_ms;
	} *list;
	size_t n;
};

bool lease_marks_have(const struct lease_marks *marks, const struct lease *lease);
void lease_marks_free(struct lease_marks *marks);

struct reconcile_item {
	enum reconcile_verdict verdict;
	char id[ID_SIZE];
	char domain[DOMAIN_NAME_SIZE];
	char why[REASON_SIZE];
};

struct reconcile {
	struct store *store;         /* writable */
	const struct config *config; /* NULL: no valid one, so nothing is adopted */
	const struct policy *policy; /* the configuration's, or the defaults */
	const struct live_domain *domains;
	size_t ndomains;
	int64_t looked_ms; /* CLOCK_MONOTONIC before libvirt was asked for them; a younger lease cannot be judged */
	/*
	 * The leases that the last pass saw attached; on return, those that this pass saw. If the device of such a
	 * lease is missing later, it was unplugged, and its release need not wait for start_grace. Losing this list
	 * only costs time.
	 */
	struct lease_marks *plugged;
	/* the result */
	struct reconcile_item *items; /* all except RECONCILE_LEAVE */
	size_t n;
	struct gc gc; /* the outcome for leases and foreign devices */
	size_t leases;
	int64_t again_ms; /* CLOCK_MONOTONIC: when a lease has a deadline or its verdict may change; 0: none */
};

/*
 * Makes the pass. What is due for release is marked `releasing` and left to reconcile_finish(), so that the pass never
 * waits. An error means that nothing could be judged.
 */
int reconcile_run(struct reconcile *pass, struct err *err);
void reconcile_end(struct reconcile *pass);

/* Makes another pass due at this time, unless one is due earlier. */
void reconcile_again(struct reconcile *pass, int64_t at_ms);

/* Sets named[i] if a domain of libvirt names ids[i], or if that is unknown. */
typedef void reconcile_named(void *arg, const char *const *ids, bool *named, size_t n);

/*
 * After the pass: removes the Nova orphans that it has found, with their mdevctl definitions, unless libvirt names them
 * (`named`; NULL: only libvirt's files are read). Takes a few seconds at most; the rest is due at again_ms.
 */
void reconcile_orphans(struct reconcile *pass, reconcile_named *named, void *arg);

/*
 * Completes as many releases as is possible now. A device that is still open, or that its driver may still remove by
 * itself, is left for a later call. Returns how many are left, or a negative error if the leases cannot be read.
 * `logged`: leases whose failure was logged, so that each is logged once.
 */
int reconcile_finish(struct store *store, const struct policy *policy, struct lease_marks *logged, struct err *err);
