/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Collects everything that plan needs to know (struct world).
 *
 * A caller that decides holds the store's lock from survey_read() until its decision is written in leases, so that no
 * lease changes. Before the lock is taken, survey_ahead() does the slow work that asks no driver.
 */
#pragma once

#include "look/vfio_users.h"
#include "look/libvirt_files.h"
#include "look/world.h"
#include "state/history.h"

/*
 * Starts the survey whose input the caller has set in `world`, and resolves the request, which may replace an earlier
 * request. Always call survey_end().
 */
int survey_start(struct world *world, struct err *err);
void survey_end(struct world *world);

#define autosurvey __attribute__((cleanup(survey_end)))

/*
 * Resolves one vGPU of a request, except for its NUMA nodes. -ENOENT: neither this host nor the pool knows a requested
 * type.
 */
int survey_resolve(struct resolved_request *resolved, const struct vgpu_request *req, struct world *world,
		   struct err *err);

/*
 * If survey_read() will probably ask whether a device is open, searches all processes and, except for a start,
 * libvirt's files. A wide survey always searches both. The search ends at `by_ms` (CLOCK_MONOTONIC; INT64_MAX: no
 * deadline), or soon after.
 */
int survey_ahead(struct world *world, int64_t by_ms, struct err *err);

/*
 * Reads the leases and the host, and sets void leases apart. If a device that a rule asks about appeared after
 * survey_ahead(), searches again without the lock; under the lock, returns 1: call both functions again. Under the
 * lock, also drops void leases, and records the types and the configured cards.
 */
int survey_read(struct world *world, struct err *err);

/*
 * The whole survey, for a caller that decides nothing; takes no lock. If `world` was read already, does not read the
 * host again, but only collects the facts about its request, which may have changed.
 */
int survey_see(struct world *world, struct err *err);
