/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * All that plan needs to know, brought together: inventory, pool, leases that count, what is known of each device,
 * what could make capacity.
 *
 * Whoever decides holds the store's lock from survey_read() until what it decided is written in leases; what takes its
 * time without asking a driver, a look at all processes and libvirt's files, is done before (survey_ahead()). Neither
 * changes anything on the host: survey_record() does.
 */
#pragma once

#include "host/vfio_users.h"
#include "host/libvirt_files.h"
#include "plan/plan.h"
#include "state/history.h"

/* Starts a survey with what the caller has set: resolves the request. survey_end() follows in any case. */
int survey_start(struct world *world, struct err *err);
void survey_end(struct world *world);

#define autosurvey __attribute__((cleanup(survey_end)))

/*
 * What is known of each vGPU of a request, one for each; the caller frees *out, also after a failure. -ENOENT: a type
 * that is asked for is known neither here nor to the pool: the known ones are listed.
 */
int survey_resolve(struct resolved_request **out, const struct request *request, const struct world *world,
		   struct err *err);

/*
 * Before survey_read(), not under the store's lock: looks at all processes, where the read will ask who has a device
 * open (a quarter of a second for a start, which need not know), and at libvirt's files.
 */
int survey_ahead(struct world *world, struct err *err);

/*
 * Reads the leases and the host, as deep as `depth` says; sets apart what is void (reservations past their deadline,
 * creations whose writer is dead and whose device is absent). Whoever decides holds the store's lock meanwhile: no
 * lease changes between the two, nor until what was decided is written. `unseen`: survey_ahead(), and again.
 */
int survey_read(struct world *world, struct err *err);

/* The same for who decides nothing, without the lock, and with the look at processes where one is asked for. */
int survey_see(struct world *world, struct err *err);

/*
 * After survey_see() of SURVEY_EXPLAIN, for another request of a start in the place of that one: the host is the same,
 * and not read again.
 */
int survey_again(struct world *world, const struct request *asked, struct err *err);

/* Under the lock: drops what is void, and remembers what the host said of types and drivers. */
int survey_record(struct world *world, struct err *err);

/*
 * Adds to a survey of SURVEY_EXPLAIN, without the lock, what SURVEY_RECLAIM reads: orphans (as [policy] reclaim allows,
 * noting since when they have been seen free), and devices of ours whose domain is gone or that are only waiting to be
 * released.
 */
int survey_look(struct world *world, struct err *err);
