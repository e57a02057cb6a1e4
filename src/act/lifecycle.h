/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What happens to a domain's vGPUs at each operation of libvirt.
 *
 * Only prepare and migrate may refuse. A failure of another operation is only logged: a failed reconnect would kill a
 * running guest, and a failed restore would lose a saved guest.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "config/config.h"
#include "act/apply.h"
#include "domain/domxml.h"
#include "base/err.h"
#include "sys/sys.h"
#include "decide/plan.h"
#include "look/survey.h"

struct lifecycle {
	const struct host *host;
	const struct config *config; /* NULL: none is valid, so existing vGPUs are adopted, and none is created */
	const struct policy *policy; /* the configuration's, or the defaults */
	const char *why_no_config;   /* why nothing can be leased, with the fix */
	bool powerless;              /* not root: nothing can be leased, as why_no_config says */
	const struct domxml *doc;
	const struct request *request; /* the request of `doc` */
	const char *op;                /* the name of prepare in the log; NULL: "prepare" */
	struct work_locks *work;       /* receives the work locks of prepare; NULL: each is released with its step */
};

/*
 * `prepare begin`. 0: all vGPUs of the domain exist, complete and leased to it, or without a lease as
 * lifecycle_special.c allows. After an error, nothing of the attempt is left except a creation that hangs.
 */
int lifecycle_prepare(const struct lifecycle *lifecycle, struct err *err);

/*
 * `prepare begin` of a domain whose XML has no vGPU. If the domain is a suspended Nova instance, whose mdevs Nova has
 * detached, creates the mdevs of its definition that no longer exist, so that Nova can attach them. A failure is only
 * logged.
 */
void lifecycle_resumed(const struct lifecycle *lifecycle, const char *defined, size_t len);

/* Reads the domain's definition for lifecycle_resumed(). False: there is none, or it has no vGPU. */
bool lifecycle_definition(const struct host *host, const char *name, char **xml, size_t *len);

/*
 * `migrate begin` or `restore begin`: reserves, and passes the XML with this host's IDs to `give` if it changes. After
 * a failure, nothing stays reserved, but a release that was put off for the domain waits for reserve_ttl. An error of a
 * restore must only be logged: libvirt 11.3 deletes the saved image if the hook fails.
 */
int lifecycle_arrive(const struct lifecycle *lifecycle, enum plan_mode mode,
		     int (*give)(void *arg, const char *xml, size_t len, struct err *err), void *arg, struct err *err);

/* `reconnect begin`: restores lost leases of the running domain. */
int lifecycle_reconnect(const struct lifecycle *lifecycle, struct err *err);

/*
 * `release end`: releases what the domain with this UUID holds. Takes at most `release_wait`, and leaves the rest to
 * the handler or, if none runs, to the next `gc`. `reason` is libvirt's: if a start "failed" soon after its prepare,
 * the pGPUs that it used are tried last for a while.
 */
int lifecycle_release(const struct host *host, const struct config *config, const char *domain, const char *reason,
		      struct err *err);

/*
 * Decides an operation that needs no plan. Returns:
 *   1: a plan decides
 *   0: everything stays as it is
 *   negative: the operation is refused
 */
int lifecycle_before_plan(const struct lifecycle *lifecycle, enum plan_mode mode, struct err *err);

/* After survey_read(): refuses the arrival of a domain that runs or starts on this host. Returns 0 or -EEXIST. */
int lifecycle_refuse_running(const struct lifecycle *lifecycle, const struct world *world, struct err *err);

/* The world of an operation, before the host is read. */
struct world lifecycle_world(const struct lifecycle *lifecycle, struct store *store, enum plan_mode mode);

/* Sets `err` to the plan's refusal, which libvirt shows after the domain's name. Returns a negative code. */
int refusal_of_plan(const struct lifecycle *lifecycle, const struct plan *plan, struct err *err);
