/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The leases on disk: each is one small file, /run/vgpu-lease/leases/ID. A file appears whole or not at all. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "model/lease.h"
#include "state/store.h"

/*
 * Reads all leases. Skips and counts garbage. If the caller holds the store's lock, also sets garbage aside and removes
 * the temporary files of killed writers.
 */
int lease_list(const struct store *store, struct leases *out, struct err *err);

/* lease_list() under the store's lock, for which it waits at most `wait_ms`. */
int lease_list_locked(struct store *store, int wait_ms, struct leases *out, struct err *err);

/* True if this host has a lease file, even an invalid one. Opens no lease file and takes no lock. */
bool lease_any(const struct host *host);

/* Reads one lease. 1: found; 0: none, or garbage, which is set aside if the caller holds the store's lock. */
int lease_get(const struct store *store, const char *id, struct lease *out, struct err *err);
int lease_get_locked(struct store *store, int wait_ms, const char *id, struct lease *out, struct err *err);

/* Writes `lease`, with the present time and this process as its writer, over an older one. Needs the store's lock. */
int lease_put(const struct store *store, struct lease *lease, struct err *err);

/* Gives the error that lease_put() would give with `space`, and deducts the lease from `space`. Writes nothing. */
int lease_would_put(const struct store *store, const char *id, struct store_space *space, struct err *err);

/* Is a process creating, taking over or removing the lease's vGPU? */
bool lease_at_work(const struct store *store, const struct lease *lease);

/* Removes the lease. A missing lease is not an error, so a release can be repeated. Needs the store's lock. */
int lease_drop(const struct store *store, const char *id, struct err *err);
