/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Completes releases that a hook, a command or a pass has marked. */
#pragma once

#include "base/err.h"
#include "config/config.h"
#include "model/lease.h"
#include "state/store.h"

/*
 * Completes as many releases as is possible now, each in a short turn, so that a stuck one delays no other. A device
 * that is still open, or that its driver may still remove by itself, is left for a later call. Returns how many are
 * left, or a negative error if the leases cannot be read. `logged`: leases whose failure was logged, so that each is
 * logged once.
 */
int releases_finish(struct store *store, const struct policy *policy, struct lease_marks *logged, struct err *err);
