/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What happens to a domain's vGPUs at each operation of libvirt. hooks/qemu.c says which of them may refuse. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "config/config.h"
#include "domain/domxml.h"
#include "base/err.h"
#include "sys/sys.h"
#include "decide/plan.h"
#include "look/survey.h"

/* The work locks that prepare has taken, one for each vGPU of the request. */
struct work_locks {
	struct applied *list;
	size_t n;
};

/* Releases the lock of `id`; NULL: all locks. */
void work_locks_end(struct work_locks *locks, const char *id);

struct lifecycle {
	const struct host *host;
	const struct config *config; /* if it is not valid, existing vGPUs are adopted, and none is created */
	bool powerless;              /* not root, so nothing can be leased; config->why says so */
	const struct domxml *doc;
	const struct request *request;
	const char *op;          /* the operation in the log; NULL: "prepare" */
	struct work_locks *work; /* receives the work locks of prepare; NULL: each lock ends with its step */
};

/*
 * `prepare begin`. 0: all vGPUs of the domain are complete and leased to it, or it may start without leases. Negative:
 * refused, and all is undone, unless a driver hangs.
 */
int lifecycle_prepare(const struct lifecycle *lifecycle, struct err *err);

/* `prepare begin` of a suspended Nova instance: creates the missing mdevs of its definition. Only logs a failure. */
void lifecycle_resumed(const struct lifecycle *lifecycle, const char *defined, size_t len);

/*
 * `migrate begin` or `restore begin`: reserves vGPUs, and passes changed XML to `give`. 0: reserved, or a restore
 * without reservations. Negative: nothing stays reserved.
 */
int lifecycle_arrive(const struct lifecycle *lifecycle, enum plan_mode mode,
		     int (*give)(void *arg, const char *xml, size_t len, struct err *err), void *arg, struct err *err);

/* `reconnect begin`: restores the lost leases of the running domain. Tries all vGPUs, and returns the last error. */
int lifecycle_reconnect(const struct lifecycle *lifecycle, struct err *err);

/*
 * `release end` of the domain with this UUID: takes at most `release_wait` (1 s if that is 0), and leaves the rest to
 * the handler or the next `gc`. Negative: not every lease could be marked. `reason`: from libvirt; after "failed", the
 * pGPUs of the domain are tried last for a while.
 */
int lifecycle_release(const struct host *host, const struct config *config, const char *domain, const char *reason,
		      struct err *err);

/* 1: a plan decides; 0: the domain continues without leases; negative: refused, because nothing can be leased. */
int lifecycle_before_plan(const struct lifecycle *lifecycle, enum plan_mode mode, struct err *err);

/* -EEXIST: the arriving domain runs or starts on this host; else 0. */
int lifecycle_refuse_running(const struct world *world, struct err *err);

struct world lifecycle_world(const struct lifecycle *lifecycle, struct store *store, enum plan_mode mode);

/* Sets `err` to the plan's refusal. Returns -ENOSPC (no capacity), -EDQUOT (quota) or -EPERM. */
int refusal_of_plan(const struct world *world, const struct plan *plan, struct err *err);
