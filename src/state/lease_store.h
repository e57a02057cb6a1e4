/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The leases on disk: one small file each in /run/vgpu-lease/leases, named by the vGPU's ID. A file appears whole or
 * not at all.
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
 * All leases. Garbage is skipped and counted. Under the store's lock, garbage is also set aside, and leftovers of
 * killed writers are removed.
 */
int lease_list(const struct store *store, struct leases *out, struct err *err);

/* Takes the store's lock for this, waiting at most `wait_ms`, and releases it again. */
int lease_list_locked(struct store *store, int wait_ms, struct leases *out, struct err *err);

/* Does this host have a file of a lease? Reads no file and takes no lock. */
bool lease_any(const struct host *host);

/* Reads one lease. 1: found; 0: there is none. Garbage counts as none, and is set aside under the lock. */
int lease_get(const struct store *store, const char *id, struct lease *out, struct err *err);
int lease_get_locked(struct store *store, int wait_ms, const char *id, struct lease *out, struct err *err);

/* Writes `lease` with the present time and this process as its writer, and replaces an older one. Under the lock. */
int lease_put(const struct store *store, struct lease *lease, struct err *err);

/* The same, but keeps the lease's time: from now on this process is working on it. */
int lease_take(const struct store *store, struct lease *lease, struct err *err);

/* The error that lease_put() would give with this much space, from which it deducts the lease. Writes nothing. */
int lease_would_put(const struct store *store, const char *id, struct store_space *space, struct err *err);

/* Removes the lease; a missing lease is no error, so a release can be repeated. Under the lock. */
int lease_drop(const struct store *store, const char *id, struct err *err);
