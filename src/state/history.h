/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Records beside the leases: the last place of a UUID, since when a foreign device has been seen free, which pGPU could
 * not create a type, and what the type numbers of a variant driver's model mean.
 *
 * All of it is advice: losing a record, or failing to write it, never fails an operation. The clock is CLOCK_MONOTONIC.
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

/* The record of a UUID, kept across reboots: what it was, and who made the device of this boot. */
struct affinity {
	char type[TYPE_SIZE];
	char parent[PARENT_SIZE];
	bool made_this_boot; /* by us, since the host was booted, and not removed yet */
	bool for_guest;      /* the device was made for a guest, by us or by others (affinity_is_new()) */
};

/* 1 and the record; 0: there is no record, or it is not valid. */
int affinity_get(const struct store *store, const char *id, struct affinity *out);

/* The parents that have had vGPUs of a type, each once; the caller frees *out. Returns their number. */
size_t affinity_parents(const struct host *host, const char *type, char (**out)[PARENT_SIZE]);

void affinity_put(const struct store *store, const struct lease *lease, bool for_guest);

/* Records that the device is gone: the next one with its ID is not ours, nor known to be made for a guest. */
void affinity_gone(const struct store *store, const char *id);

/*
 * Did others make this device, which is leased now, for its guest? Yes if a complete look (looked_note()) less than
 * `window_ms` ago saw the host without the device and without an mdevctl definition of it.
 */
bool affinity_is_new(const struct store *store, const char *id, int64_t window_ms);

/* Was it made for a guest? Only such devices are removed when they are unused; a deployment's pool is kept. */
bool affinity_is_for_guest(const struct store *store, const char *id);

/*
 * Records a complete look at the host, which began at `at_ms`: for each device, the time of the last look without it.
 * Forgets for whom a device was made if it has gone since the last look and has no mdevctl definition. Under the lock.
 */
void looked_note(const struct store *store, const struct inventory *inv, int64_t at_ms);

struct seen {
	uint64_t node;      /* distinguishes it from an earlier device with its UUID */
	int64_t created_ms; /* CLOCK_MONOTONIC ms; 0: not known */
};

/*
 * Since when (CLOCK_MONOTONIC ms) it has been idle: its last sign of use, or else the first look that saw it free. If
 * neither is known, that is this look, which is recorded if `note` is set.
 */
int64_t seen_since(const struct store *store, const char *id, const struct seen *device, bool note);

/* Records a sign of use, now: its lease has ended (recorded by lease_drop()), or it is open. */
void seen_used(const struct store *store, const char *id);

/* Records that a domain names it, at most once a minute. The first look that finds it unnamed starts its idle time. */
void seen_in_use(const struct store *store, const char *id);
void seen_forget(const struct store *store, const char *id);

/* A pGPU could not create a type: for a while, every run tries it after all others. */
struct failure {
	char pgpu[PARENT_SIZE];
	char type[TYPE_SIZE];
};

/* Records a failure as of now. Never fails a start. */
void failure_note(const struct store *store, const char *pgpu, const char *type);
void failure_forget(const struct store *store, const char *pgpu);

/* The failures of the last minutes; the caller frees *out, which is NULL if there are none. Returns their number. */
size_t failure_list(const struct store *store, struct failure **out);

/*
 * Cards whose drivers do not answer reads, up to a limit. silent_recall() takes over those that other processes found;
 * silent_note() records those known here, under the lock. Only one process waits for a driver: while it hangs, nobody
 * else has to.
 */
void silent_recall(const struct store *store);
void silent_note(const struct store *store);

/*
 * Records the types that cards of NVIDIA's variant driver listed and that were not yet recorded for their model
 * (typelist). Under the lock.
 */
void types_remember(const struct store *store, const struct inventory *inv);

/*
 * Records the devices at the addresses of [vf_NAME] sections that have no record yet, and forgets addresses that no
 * section names any more (card_record.h). Under the lock.
 */
void cards_remember(const struct store *store, const struct config *config);

/* Confirms that the device at this address now is the one that is meant. */
int card_confirm(const struct store *store, const char *address, struct err *err);

/*
 * Forgets useless records: since when a device has been seen that is gone, and those of UUIDs that nothing on this host
 * names (`named`) and that are more than `days` days old.
 */
void history_tidy(const struct store *store, bool (*exists)(const void *arg, const char *id),
		  bool (*named)(const void *arg, const char *id), const void *arg, int days);
