/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * How often the hook was called and how long it took, counted since the host was booted: for metrics.
 *
 *   run/vgpu-lease/counts-3   this struct; a later version with another one has a file of its own
 *
 * Hooks add to it at the same time, without a lock: each number is an atomic one in shared memory. The file has all its
 * space from the beginning, so that a full /run fails its creation and not a later access. All of it is advice: what
 * cannot be counted is not.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "sys/sys.h"

enum count_op { COUNT_PREPARE, COUNT_MIGRATE, COUNT_RESTORE, COUNT_RECONNECT, COUNT_RELEASE };

enum refusal {
	REFUSAL_CAPACITY, /* another time there may be some */
	REFUSAL_QUOTA,    /* likewise, of the project */
	REFUSAL_REQUEST,  /* the domain or the host must be changed */
	REFUSAL_CONFIG,   /* there is no configuration, or none that is valid */
	REFUSAL_STATE,    /* /run/vgpu-lease cannot be written, or is not trusted */
	REFUSAL_CANCELED, /* the domain was released meanwhile */
	REFUSAL_TIMEOUT,  /* something was waited for in vain: a lock, a driver, a process that has the vGPU open */
	REFUSAL_ERROR,
	REFUSAL_NONE, /* so many there are */
};

enum { COUNT_OPS = COUNT_RELEASE + 1, COUNT_BUCKETS = 12 };

struct counts {
	uint64_t refusals[REFUSAL_NONE];
	struct count {
		uint64_t buckets[COUNT_BUCKETS + 1]; /* each call in one: the first that it is not longer than */
		uint64_t sum_ms;
	} ops[COUNT_OPS];
};

/* Upper bounds of the buckets; the one behind them has none. */
extern const int count_bounds_ms[COUNT_BUCKETS];

/* "prepare", "capacity". */
const char *count_op_word(enum count_op op);
const char *refusal_word(enum refusal refusal);

/* The reason of a refusal with this error. */
enum refusal refusal_of(const struct err *err);

/* One call of the hook. Where there is no store, nothing is counted. */
void counts_add(const struct host *host, enum count_op op, int64_t took_ms, enum refusal refusal);

/* False: nothing was counted yet, or it cannot be read. */
bool counts_read(const struct host *host, struct counts *counts);
