/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reads the events of vGPUs from the journal. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/err.h"
#include "cli/json_out.h"

struct events_query {
	const char *root;   /* the root of another host, or NULL */
	const char *object; /* a domain, vGPU or pGPU; NULL: all */
	int64_t since_us;   /* CLOCK_REALTIME; 0: all */
	int last;           /* only the latest `last` events; 0: all */
	bool count;         /* count the events without printing them */
};

/* Succeeds if any part of the journal can be read. -ENOENT: there is no journal; -EACCES: permission denied. */
int events_check(const char *root, struct err *err);

/*
 * Prints the events, oldest first, as lines (`json` NULL) or into the open array. Returns their number, or a negative
 * errno. If only a part of the journal can be read, prints the events of that part and returns an error.
 */
int events_print(const struct events_query *query, struct json_out *json, struct err *err);

/* Converts a time to microseconds since 1970, at least 1. Dates and days are local. False: not one of these forms. */
#define EVENTS_SINCE_FORMS "YYYY-MM-DD [HH:MM[:SS]], today, yesterday, -1h, '2 days ago' or @SECONDS"
bool events_since(int64_t *us, const char *text, time_t now);
