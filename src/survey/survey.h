/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Collects everything that plan needs to know: inventory, pool, valid leases, facts about each device, and what could
 * make capacity.
 *
 * A caller that decides holds the store's lock from survey_read() until its decision is written in leases. Slow work
 * that asks no driver (a look at all processes and at libvirt's files) is done before that, in survey_ahead(). Neither
 * changes anything on the host; survey_record() does.
 */
#pragma once

#include "host/vfio_users.h"
#include "host/libvirt_files.h"
#include "plan/plan.h"
#include "state/history.h"

/* Starts a survey with the fields that the caller has set, and resolves the request. Call survey_end() in any case. */
int survey_start(struct world *world, struct err *err);
void survey_end(struct world *world);

#define autosurvey __attribute__((cleanup(survey_end)))

/*
 * What is known about each vGPU of a request, one entry per vGPU; the caller frees *out, also after a failure. -ENOENT:
 * neither this host nor the pool knows a requested type; the error lists the known ones.
 */
int survey_resolve(struct resolved_request **out, const struct request *request, const struct world *world,
		   struct err *err);

/*
 * Looks at all processes if the read will ask who has a device open, and at libvirt's files. Call it before
 * survey_read(), without the store's lock. A start, which can do without the answer, spends a quarter of a second on
 * it.
 */
int survey_ahead(struct world *world, struct err *err);

/*
 * Reads the leases and the host, as deep as `depth` says, and sets void leases apart (reservations past their deadline;
 * creations whose writer is dead and whose device is absent). A caller that decides holds the store's lock from here
 * until its decision is written, so that no lease changes. If this sets `unseen`, call survey_ahead(), then this again.
 */
int survey_read(struct world *world, struct err *err);

/* survey_read() for a caller that decides nothing: without the lock, but with survey_ahead() if it is needed. */
int survey_see(struct world *world, struct err *err);

/*
 * Serves another request of a start in place of the last one. Call it after survey_see() with SURVEY_EXPLAIN: the host
 * is not read again.
 */
int survey_again(struct world *world, const struct request *asked, struct err *err);

/* Under the lock: drops void leases, and records what the host said about types and drivers. */
int survey_record(struct world *world, struct err *err);

/*
 * Adds to a survey of SURVEY_EXPLAIN, without the lock, what SURVEY_RECLAIM reads: orphans (as [policy] reclaim allows,
 * recording since when they have been seen free), and devices of ours whose domain is gone or whose release is pending.
 */
int survey_look(struct world *world, struct err *err);
