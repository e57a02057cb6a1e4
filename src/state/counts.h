/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Counts the calls of the hook and their durations since the last boot, for metrics.
 *
 *   run/vgpu-lease/counts-3   this struct; a later version with another struct uses a file of its own
 *
 * Hooks add to the file concurrently and without a lock, because every number is atomic in shared memory. All space is
 * allocated before the file is mapped, so a full /run fails the allocation and not a later access. The numbers are
 * advisory: a failure to count a call is ignored.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "sys/sys.h"

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

/* The names of operations and refusals, such as "prepare" and "capacity". */
extern const char *const count_op_words[];
extern const char *const refusal_words[];

/* The reason for a refusal with this error. */
enum refusal refusal_of(const struct err *err);

/* Counts one call of the hook. Without a store, nothing is counted. */
void counts_add(const struct host *host, enum count_op op, int64_t took_ms, enum refusal refusal);

/* False: nothing has been counted yet, or the file cannot be read. */
bool counts_read(const struct host *host, struct counts *counts);
