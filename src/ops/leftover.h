/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What other domains left behind: leases that are still `releasing` after their time, as the hook's child was killed,
 * or gave up on a device that was closed later; that are still `creating` after create_timeout, as the hook was killed;
 * or `active` past start_grace, and five minutes, for a domain that does not run any more. Where no device handler
 * runs, the next hook finishes them, in a child that libvirt does not wait for.
 */
#pragma once

#include <stdbool.h>

#include "sys/sys.h"
#include "config/config.h"
#include "state/lease_store.h"
#include "state/store.h"

/* May there be any, and nobody at it? The leases need not be locked: whoever finishes one looks again. */
bool leftover_any(const struct store *store, const struct policy *policy, const struct leases *leases);

/*
 * Completes those that `vgpu-lease gc` would also release. Returns at once; no lock may be held. `config` is NULL where
 * none is in effect.
 */
void leftover_finish(const struct host *host, const struct config *config, const struct policy *policy);
