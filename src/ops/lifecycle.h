/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The flows: what happens to a domain's vGPUs at each of libvirt's operations, as straight sequences of survey, plan
 * and apply.
 *
 * Only prepare and migrate may refuse: a failure of any other would kill a running guest or lose a saved one, and is
 * only logged.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "config/config.h"
#include "domain/domxml.h"
#include "base/err.h"
#include "sys/sys.h"
#include "plan/plan.h"
#include "survey/survey.h"

struct lifecycle {
	const struct host *host;
	const struct config
		*config; /* NULL: there is none, or it is wrong: what exists is adopted, nothing is created */
	const struct policy *policy; /* the configuration's, or the defaults */
	const char *why_no_config;   /* with what to do */
	bool powerless;              /* not root: nothing can be leased either, which why_no_config says */
	const struct domxml *doc;
	const struct request *request; /* of doc */
	const char *op;                /* what the log calls a preparation; NULL "prepare" */
};

/*
 * `prepare begin`: after 0, every vGPU of the domain is there, whole and leased to it. Otherwise nothing is left of
 * the attempt.
 */
int lifecycle_prepare(const struct lifecycle *lifecycle, struct err *err);

/*
 * `prepare begin` of a domain whose XML has no vGPU: where it is an instance of Nova that a suspend has taken its mdevs
 * from, those that do not exist any more are created, for Nova to attach. A failure is only logged.
 */
void lifecycle_resumed(const struct lifecycle *lifecycle, const char *name);

/* Can that be? Before the configuration is read: a false is certain. `root` is host_open()'s. */
bool lifecycle_may_be_resumed(const char *root, const char *name, const char *xml, size_t len);

/*
 * `migrate begin`: reserves, and sets *xml to the XML with this host's UUIDs (the caller frees it), or to NULL where
 * nothing changes.
 */
int lifecycle_migrate(const struct lifecycle *lifecycle, char **xml, size_t *len, struct err *err);

/*
 * `restore begin`: the same, but an error is only for the log: libvirt 11.3 deletes the saved image where this fails.
 * *xml is NULL then.
 */
int lifecycle_restore(const struct lifecycle *lifecycle, char **xml, size_t *len, struct err *err);

/* Takes back what lifecycle_migrate() or lifecycle_restore() reserved: the XML could not be handed over. */
void lifecycle_unreserve(const struct lifecycle *lifecycle);

/* `reconnect begin`: restores leases that were lost from the running domain. */
int lifecycle_reconnect(const struct lifecycle *lifecycle, struct err *err);

/*
 * `release end`: releases what the domain with this UUID holds. Spends at most `release_wait`; what takes longer is
 * left to the handler or, where none runs, to a detached child. `reason` is libvirt's: after one that "failed" soon after
 * its preparation, the pGPUs that it was on are tried last for a while.
 */
int lifecycle_release(const struct host *host, const struct config *config, const char *domain, const char *name,
		      const char *reason, struct err *err);

/*
 * What is known before any plan is made. 1: a plan decides; 0: all stays as it is; negative: the operation is refused.
 */
int lifecycle_before_plan(const struct lifecycle *lifecycle, enum plan_mode mode, struct err *err);

/* The refusal of a plan that cannot be carried out, as libvirt shows it behind the domain's name. Negative. */
int refusal_of_plan(const struct lifecycle *lifecycle, const struct plan *plan, struct err *err);
