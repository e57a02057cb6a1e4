/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Advisory records beside the leases: nothing fails if one cannot be written. Times are CLOCK_MONOTONIC. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/ident.h"
#include "state/store.h"

enum { AFFINITY_CARD = 24 };

/* What is known of an ID across reboots. */
struct affinity {
	char type[TYPE_SIZE];
	char parent[PARENT_SIZE];
	bool made_this_boot; /* we created the device in this boot, and it has not been removed yet */
	bool for_guest;      /* the device was made for a guest, by us or by another program... */
	bool before_boot;    /* ...in an earlier boot */
	/* Of a VF: vendor, device and subsystem of its card, and the UUID of the last lease's domain; "": not known. */
	char card[AFFINITY_CARD], domain[UUID_SIZE];
};

/* False: the record is missing or invalid. */
bool affinity_get(const struct store *store, const char *id, struct affinity *out);

/* Lists each parent that has had a vGPU of the type, and returns their number. The caller frees *out. */
size_t affinity_parents(const struct host *host, const char *type, char (**out)[PARENT_SIZE]);

/* `card`: the card of a VF; "": not known, and the recorded card stays. */
void affinity_put(const struct store *store, const struct lease *lease, bool for_guest, const char *card);

/* Records that the device is gone. A new device with its ID then counts as made by another program, for no guest. */
void affinity_gone(const struct store *store, const char *id);

/*
 * When (CLOCK_MONOTONIC ms) the device became idle: at its last recorded use or its later creation (0: not known),
 * otherwise at the first recorded look that saw it free, otherwise now. `node` distinguishes the device from an earlier
 * one with its UUID. `note`: record the result.
 */
int64_t seen_since(const struct store *store, const char *id, uint64_t node, int64_t created_ms, bool note);

/* Records that the device is in use now: it is open, or its lease has just ended (lease_drop() calls this). */
void seen_used(const struct store *store, const char *id);

/*
 * Returns since when (CLOCK_MONOTONIC ms) the device, which is closed, has been unused: as recorded, otherwise now.
 * `note`: record it. 0: it cannot be recorded.
 */
int64_t seen_closed(const struct store *store, const char *id, bool note);

/* The idle time starts again at the next look that sees the device free. */
void seen_forget(const struct store *store, const char *id);

/* A type that failed on a pGPU. For a while, every run tries this pGPU last for the type. */
struct failure {
	char pgpu[PARENT_SIZE];
	char type[TYPE_SIZE];
};

void failure_note(const struct store *store, const char *pgpu, const char *type);
void failure_forget(const struct store *store, const char *pgpu);

/* Lists the failures of the last five minutes. Returns their number; the caller frees *out (NULL if 0). */
size_t failure_list(const struct store *store, struct failure **out);

/*
 * Cards whose drivers do not answer reads, as found by other processes and by this one. The store calls both. Without
 * its lock two writers can lose a record, which costs one more read.
 */
void silent_recall(const struct store *store);
void silent_note(const struct store *store);

/*
 * Removes three kinds of files: seen/ records of IDs that are not `known`; affinity/ records older than 90 days whose
 * IDs are not `known` even by name (`named`); and what killed writers left.
 */
void history_tidy(const struct store *store, bool (*known)(const void *arg, const char *id, bool named),
		  const void *arg);

/*
 * The calls of the hook and their durations since the last boot, for metrics, are a struct counts in
 * run/vgpu-lease/counts-3. A later version with another struct uses another file.
 *
 * Hooks add to the file without a lock, because every number is atomic in shared memory. All space is allocated before
 * the file is mapped, so a full /run fails the allocation and not a later access. A failure to count is ignored.
 */
enum count_op { COUNT_PREPARE, COUNT_MIGRATE, COUNT_RESTORE, COUNT_RECONNECT, COUNT_RELEASE };

enum refusal {
	REFUSAL_CAPACITY, /* no capacity now, but maybe later */
	REFUSAL_QUOTA,    /* the project's quota is used up now, but maybe not later */
	REFUSAL_REQUEST,  /* the domain or the host must be changed */
	REFUSAL_CONFIG,   /* the configuration is missing or invalid */
	REFUSAL_STATE,    /* /run/vgpu-lease cannot be written, or is not trusted */
	REFUSAL_CANCELED, /* the domain was released meanwhile */
	REFUSAL_TIMEOUT,  /* a wait timed out: for a lock, a driver, or a process that has the vGPU open */
	REFUSAL_ERROR,
	REFUSAL_NONE, /* not refused; also the number of reasons */
};

enum { COUNT_OPS = COUNT_RELEASE + 1, COUNT_BUCKETS = 12 };

struct counts {
	uint64_t refusals[REFUSAL_NONE];
	struct count {
		uint64_t buckets[COUNT_BUCKETS + 1]; /* a call is counted once, in the first bucket that it fits */
		uint64_t sum_ms;
	} ops[COUNT_OPS];
};

/* The upper bounds of the buckets in ms; the last bucket has no bound. */
extern const int count_bounds_ms[COUNT_BUCKETS];
extern const char *const count_op_words[];
extern const char *const refusal_words[];

enum refusal refusal_of(const struct err *err);

/* Counts one call of the hook. Without a store, nothing is counted. */
void counts_add(const struct host *host, enum count_op op, int64_t took_ms, enum refusal refusal);

/* False: nothing has been counted yet, or the file cannot be read; all counts are 0. */
bool counts_read(const struct host *host, struct counts *counts);
