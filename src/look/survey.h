/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Collects everything that a plan needs to know (struct world).
 *
 * A caller that decides holds the store's lock from survey_read() until it has written its leases. Before it takes the
 * lock, it calls survey_ahead(), which does the slow work that asks no driver.
 */
#pragma once

#include "look/libvirt_files.h"
#include "look/vfio_users.h"
#include "look/world.h"

void survey_end(struct world *world);

#define autosurvey __attribute__((cleanup(survey_end)))

/*
 * If survey_read() will probably ask whether a device is open, searches all processes and, except for a start,
 * libvirt's files. A wide survey always searches both, and ends soon after `by_ms` (CLOCK_MONOTONIC; INT64_MAX: no
 * deadline) at the latest.
 */
int survey_ahead(struct world *world, int64_t by_ms, struct err *err);

/*
 * Reads the leases and the host, and sets void leases apart. Under the lock, also drops void leases, and records the
 * types and the configured cards. 1: a rule asks whether a device is open, and no search was made yet. The caller then
 * calls both functions again. Without the lock, this function searches instead.
 */
int survey_read(struct world *world, struct err *err);

/*
 * Makes the whole survey without the lock, for a caller that decides nothing. A later call, perhaps for another
 * request, does not read the host again.
 */
int survey_see(struct world *world, struct err *err);
