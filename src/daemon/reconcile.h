/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Leases, the kernel's devices, running domains and open handles, brought together: what the hooks could not see is
 * recorded, what they left is finished.
 *
 *   - a running domain's device that is in no lease was hot-plugged by somebody else: it is leased to the domain, as
 *     adopted;
 *   - an active lease of a running domain whose live XML no longer has the device, and which nobody has open, was
 *     unplugged: it is released, unless a suspend did it, which can fail and puts it back then, as a resume does;
 *   - leases whose domain is gone, that have expired or are void are released (gc);
 *   - with nova_conf, orphans of Nova are removed with their definitions when reclaim_grace is over;
 *   - what is leased to one domain and runs in another, and all else that is foreign, is reported and left alone.
 *
 * Nothing is done on doubt: where a domain is being started, moved or stopped, where its XML or who has a device open
 * cannot be told, all stays until the next pass. A running guest is never touched, as no device that is open is. It
 * keeps no state but what the leases say: a pass can be cut off at any instant, and the next one finds what is left.
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
	const struct request
		*request; /* of its live XML, with all PCI hostdevs; NULL: not to be had, or not understood */
	const struct request *taken; /* of the record of a suspend in it; NULL: there is none */
	bool settled;                /* not in the middle of a start, a migration or an end */
};

enum reconcile_verdict {
	RECONCILE_LEAVE,
	RECONCILE_ADOPT,   /* lease it to the domain that runs with it */
	RECONCILE_RELEASE, /* it was unplugged */
	RECONCILE_REPORT,  /* something is wrong that is not ours to put right */
};

/* A vGPU of a running domain: in its live XML, leased to it, or both. */
struct reconcile_view {
	const struct lease *lease; /* NULL: in none */
	const char *domain;        /* its UUID */
	bool settled;              /* the domain is */
	bool at_work;              /* whoever wrote the lease lives, and may be plugging it in or out */
	int open;                  /* 1 somebody has it open, 0 nobody, negative: that cannot be told */
	int64_t now_ms, grace_ms;  /* grace: how young a lease may be that is still in somebody's hands */
	int64_t looked_ms;         /* what is known of its domain is not older than this */
	/* of a device in the live XML */
	bool exists; /* in the kernel, with a type */
	/* of a lease */
	bool known; /* the domain's live XML is */
	bool named; /* its live XML has the device */
	bool taken; /* a suspend took the device, and the domain has not been saved, or not got it back, yet */
	bool seen;  /* and had it in an earlier pass, under this very lease */
};

enum reconcile_verdict reconcile_device(const struct reconcile_view *view, char why[REASON_SIZE]);
enum reconcile_verdict reconcile_lease(const struct reconcile_view *view, char why[REASON_SIZE]);

/* Leases that an earlier pass met; one that was written anew is another. */
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
	struct store *store;         /* opened to be written */
	const struct config *config; /* NULL: none that is valid; then nothing is adopted */
	const struct policy *policy; /* the configuration's, or the defaults */
	const struct live_domain *domains;
	size_t ndomains;
	int64_t looked_ms; /* CLOCK_MONOTONIC before libvirt was asked for them: of a younger lease they say nothing */
	/*
	 * What the last pass saw plugged in; afterwards this one: an absence after that is an unplugging, which need
	 * not wait for start_grace. A hint: losing it costs time only.
	 */
	struct lease_marks *plugged;
	/* the result */
	struct reconcile_item *items; /* all but what is left as it is */
	size_t n;
	struct gc gc; /* what the pass over leases and foreign devices found (collect.h) */
	size_t leases;
	int64_t again_ms; /* CLOCK_MONOTONIC: a lease has a deadline then, or may be judged otherwise; 0: none */
};

/*
 * Makes the pass. What is to be released is marked `releasing` and left to reconcile_finish(), so that the pass
 * waits for nobody. An error means that nothing could be judged.
 */
int reconcile_run(struct reconcile *pass, struct err *err);
void reconcile_end(struct reconcile *pass);

/* Another pass is due at this time, if none is due earlier. */
void reconcile_again(struct reconcile *pass, int64_t at_ms);

/* Says of each of these devices whether libvirt knows a domain that names it, or may: then it is true. */
typedef void reconcile_named(void *arg, const char *const *ids, bool *named, size_t n);

/*
 * After the pass: removes what it has found of Nova's orphans, with their mdevctl definitions, unless libvirt names
 * them (`named`; NULL: it is not asked, and its files have to do). Takes a few seconds at the most; what is left then
 * is due at again_ms.
 */
void reconcile_orphans(struct reconcile *pass, reconcile_named *named, void *arg);

/*
 * Releases what is `releasing`, as far as it can be done now: a device that is still open, or whose driver has time
 * left to remove it by itself, is left for a later call. How many are left; negative: nothing could be told. `logged`
 * are those whose failure was logged: each once.
 */
int reconcile_finish(struct store *store, const struct policy *policy, struct lease_marks *logged, struct err *err);
