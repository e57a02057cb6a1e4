/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Leases that other domains left behind: still `releasing` after their time (the hook's child was killed, or gave up on
 * a device that was closed later), still `creating` after create_timeout (the hook was killed), or `active` past
 * start_grace and five minutes for a domain that no longer runs. Without a device handler, the next hook finishes them
 * in a child that libvirt does not wait for.
 */
#pragma once

#include <stdbool.h>

#include "sys/sys.h"
#include "config/config.h"
#include "state/lease_store.h"
#include "state/store.h"

/*
 * Might this lease be left behind, or any of these, without a handler? The store need not be locked: each lease is
 * checked again later.
 */
bool leftover_is(const struct store *store, const struct policy *policy, const struct lease *lease);
bool leftover_any(const struct store *store, const struct policy *policy, const struct leases *leases);

/* A domain whose own release has run out of time. */
struct leftover_own {
	const char *domain, *name;
	int64_t asked_ms; /* as for release_mark() */
};

/*
 * Releases those that `vgpu-lease gc` would, and what `own` (may be NULL) has given up, in a child; returns at once.
 * Hold no lock. `config` may be NULL.
 */
void leftover_finish(const struct host *host, const struct config *config, const struct policy *policy,
		     const struct leftover_own *own);
