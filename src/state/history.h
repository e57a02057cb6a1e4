/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Records that supplement the leases: a UUID's last parent, when a foreign device was first seen free, which type
 * failed on a pGPU, and what a variant driver's type numbers mean on a model.
 *
 * Records are advisory: only card_confirm() fails if a record cannot be written. Times in them are CLOCK_MONOTONIC.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/ident.h"
#include "state/store.h"

/* The record of an ID, kept across reboots: its last type and parent, and who created its device. */
struct affinity {
	char type[TYPE_SIZE];
	char parent[PARENT_SIZE];
	bool made_this_boot; /* we created the device in this boot, and it has not been removed yet */
	bool for_guest;      /* the device was made for a guest, by us or by others (affinity_is_new()) */
};

/* 1: *out is the record; 0: there is no valid record. */
int affinity_get(const struct store *store, const char *id, struct affinity *out);

/* Lists each parent that has had a vGPU of the type, and returns their number. The caller frees *out. */
size_t affinity_parents(const struct host *host, const char *type, char (**out)[PARENT_SIZE]);

void affinity_put(const struct store *store, const struct lease *lease, bool for_guest);

/* Records that the device is gone. A new device with its ID then counts as made by others, and not for a guest. */
void affinity_gone(const struct store *store, const char *id);

/* True if the device was made for a guest. Other devices were created in advance and are kept even if unused. */
bool affinity_is_for_guest(const struct store *store, const char *id);

struct seen {
	uint64_t node;      /* distinguishes the device from an earlier one with its UUID */
	int64_t created_ms; /* CLOCK_MONOTONIC ms; 0: not known */
};

/*
 * Returns when (CLOCK_MONOTONIC ms) the device became idle: at its last sign of use, or else at the first look that saw
 * it free. If neither is recorded, this is the first look. `note`: record the result.
 */
int64_t seen_since(const struct store *store, const char *id, const struct seen *device, bool note);

/* Records that the device is in use now: it is open, or its lease has just ended (lease_drop() calls this). */
void seen_used(const struct store *store, const char *id);

/* Forgets the device's idle time: it starts anew at the next look that sees the device free. */
void seen_forget(const struct store *store, const char *id);

/* A type that failed on a pGPU. For a while, every run tries this pGPU last for the type. */
struct failure {
	char pgpu[PARENT_SIZE];
	char type[TYPE_SIZE];
};

/* Records a failure with the present time. Ignores errors. */
void failure_note(const struct store *store, const char *pgpu, const char *type);
void failure_forget(const struct store *store, const char *pgpu);

/* Lists the failures of the last five minutes. Returns their number; the caller frees *out (NULL if 0). */
size_t failure_list(const struct store *store, struct failure **out);

/*
 * Cards whose drivers do not answer reads. silent_recall() reads what other processes have recorded; silent_note()
 * records the cards that this process has found. The store calls both when it is opened, locked, unlocked and closed,
 * so each later process knows the card, and does not read it. Without the store's lock two writers can lose a
 * record, which costs one more read.
 */
void silent_recall(const struct store *store);
void silent_note(const struct store *store);

/*
 * Removes the seen/ records of devices that no longer exist (`exists`), and the affinity/ records older than `days`
 * days whose ID nothing on this host names (`named`).
 */
void history_tidy(const struct store *store, bool (*exists)(const void *arg, const char *id),
		  bool (*named)(const void *arg, const char *id), const void *arg, int days);
