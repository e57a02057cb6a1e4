/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What is remembered beside the leases: where a UUID was last, since when a foreign device has been seen free, which
 * pGPU could not create a type, what the type numbers of a variant driver's model mean.
 *
 * All of it is advice: losing it, or failing to write it, never fails an operation. The clock is CLOCK_MONOTONIC.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/ident.h"
#include "host/inventory.h"
#include "state/lease_store.h"
#include "state/store.h"

/* What is remembered of a UUID across reboots: what it was, and who made the device of this boot. */
struct affinity {
	char type[TYPE_SIZE];
	char parent[PARENT_SIZE];
	bool made_this_boot; /* by us, since the host was booted, and not removed yet */
};

/* 1 and the record, or 0: none, or none that can be trusted. Remembering never fails a start. */
int affinity_get(const struct store *store, const char *id, struct affinity *out);
void affinity_put(const struct store *store, const struct lease *lease);

/* What we made is removed: whoever makes a device of this id next, it is not ours. */
void affinity_removed(const struct store *store, const char *id);

/* A foreign device. */
struct seen {
	uint64_t node;      /* tells it from an earlier device with its UUID */
	int64_t created_ms; /* CLOCK_MONOTONIC; 0: not known */
};

/*
 * Since when (CLOCK_MONOTONIC ms) it has been idle: its last sign of use, or else when it was first seen free, which is
 * noted now where it was not (and `note`).
 */
int64_t seen_since(const struct store *store, const char *id, const struct seen *device, bool note);

/* A sign of use, now: its lease has ended (lease_drop() notes that), or it is open. */
void seen_used(const struct store *store, const char *id);

/* A sign of use that lasts: noted once a minute at most. */
void seen_in_use(const struct store *store, const char *id);
void seen_forget(const struct store *store, const char *id);

/* That a pGPU could not make a type: for a while it is tried after all others, in every run. */
struct failure {
	char pgpu[PARENT_SIZE];
	char type[TYPE_SIZE];
};

/* Notes it as of now; remembering never fails a start. */
void failure_note(const struct store *store, const char *pgpu, const char *type);
void failure_forget(const struct store *store, const char *pgpu);

/* Those of the last minutes; the caller frees *out, which is NULL where there is none. Returns how many. */
size_t failure_list(const struct store *store, struct failure **out);

/*
 * Cards whose drivers do not answer reads, up to a limit: those that other processes found are taken over, and those
 * that are known here written down, under the lock. Who waits for a driver is a process; as long as that hangs nobody
 * else has to wait.
 */
void silent_recall(const struct store *store);
void silent_note(const struct store *store);

/*
 * Writes down what a card of NVIDIA's variant driver listed and was not remembered of its model yet (typelist). Under
 * the lock.
 */
void types_remember(const struct store *store, const struct inventory *inv);

/*
 * Forgets what is of no use any more: since when a device has been seen that is gone, and of UUIDs that nothing on this
 * host names (`named`) what was remembered more than `days` ago.
 */
void history_tidy(const struct store *store, bool (*exists)(const void *arg, const char *id),
		  bool (*named)(const void *arg, const char *id), const void *arg, int days);
