/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The leases on disk: one small file each in /run/vgpu-lease/leases, named by the vGPU's ID; it appears whole or not at
 * all.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "model/lease.h"
#include "state/store.h"

/*
 * All leases. Garbage is passed over and counted; under the store's lock it is set aside as well, and what a writer
 * left that was killed is removed.
 */
int lease_list(const struct store *store, struct leases *out, struct err *err);

/* The same under the store's lock, for which it waits so long; unlocked again. */
int lease_list_locked(struct store *store, int wait_ms, struct leases *out, struct err *err);

/* Is there a file among this host's leases? No look into any, and no lock. */
bool lease_any(const struct host *host);

/* Reads one lease; 1 found, 0 none. Garbage is none, and is set aside under the lock. */
int lease_get(const struct store *store, const char *id, struct lease *out, struct err *err);
int lease_get_locked(struct store *store, int wait_ms, const char *id, struct lease *out, struct err *err);

/* Records `lease` as of now by this process (since, writer), in the place of what was there. Under the lock. */
int lease_put(const struct store *store, struct lease *lease, struct err *err);

/* The same of a lease that stays as it is, but for its writer: this process is at work on it from now on. */
int lease_take(const struct store *store, struct lease *lease, struct err *err);

/* The error that it would give where there is this much space, of which it takes its part. Writes nothing. */
int lease_would_put(const struct store *store, const char *id, struct store_space *space, struct err *err);

/* Forgets the lease; one that is not there is no error: releasing can be repeated. Under the lock. */
int lease_drop(const struct store *store, const char *id, struct err *err);
