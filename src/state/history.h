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
#include "config/config.h"
#include "host/inventory.h"
#include "state/lease_store.h"
#include "state/store.h"

/* What is remembered of a UUID across reboots: what it was, and who made the device of this boot. */
struct affinity {
	char type[TYPE_SIZE];
	char parent[PARENT_SIZE];
	bool made_this_boot; /* by us, since the host was booted, and not removed yet */
	bool for_guest;      /* the device was made for a guest, by us or by others (affinity_is_new()) */
};

/* 1 and the record, or 0: none, or none that can be trusted. Remembering never fails a start. */
int affinity_get(const struct store *store, const char *id, struct affinity *out);

/* Where vGPUs of a type have been, each parent once; the caller frees *out. Returns how many. */
size_t affinity_parents(const struct host *host, const char *type, char (**out)[PARENT_SIZE]);

void affinity_put(const struct store *store, const struct lease *lease, bool for_guest);

/* The device is gone: the next one of its id is not ours, nor known to be made for a guest. */
void affinity_gone(const struct store *store, const char *id);

/*
 * A device that is leased now: did others make it for its guest? So if a complete look (looked_note()), less than
 * `window_ms` ago, saw the host without it, and without an mdevctl definition of it.
 */
bool affinity_is_new(const struct store *store, const char *id, int64_t window_ms);

/* Was it made for a guest? A pool that a deployment made is not; nothing that is unused is removed but this. */
bool affinity_is_for_guest(const struct store *store, const char *id);

/*
 * A complete look at the host, which began at `at_ms`: of each device the time of the last look without it is kept. Of
 * a device that has gone since the last look, and has no mdevctl definition, it is forgotten for whom it was made.
 * Under the lock.
 */
void looked_note(const struct store *store, const struct inventory *inv, int64_t at_ms);

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

/* A domain names it, a sign of use that lasts: noted once a minute at most. The first look after it begins anew. */
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
 * Writes down which devices the addresses of [vf_NAME] sections are, where that is not known yet, and forgets those of
 * addresses that no section names any more (card_record.h). Under the lock.
 */
void cards_remember(const struct store *store, const struct config *config);

/* The device that has this address now is the one that is meant. */
int card_confirm(const struct store *store, const char *address, struct err *err);

/*
 * Forgets what is of no use any more: since when a device has been seen that is gone, and of UUIDs that nothing on this
 * host names (`named`) what was remembered more than `days` ago.
 */
void history_tidy(const struct store *store, bool (*exists)(const void *arg, const char *id),
		  bool (*named)(const void *arg, const char *id), const void *arg, int days);
