/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What happened to vGPUs, read back from the journal. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/err.h"
#include "cli/json_out.h"

struct events_query {
	const char *root;   /* of another host; NULL */
	const char *object; /* of this domain, vGPU or pGPU only; NULL: all */
	int64_t since_us;   /* CLOCK_REALTIME; 0: all */
	int last;           /* only so many, the latest; 0: all */
	bool count;         /* nothing is printed */
};

/* Can any of the journal be read? -EACCES: the user may not. */
int events_check(const char *root, struct err *err);

/*
 * Prints the events, oldest first, as lines or into the array that is open; `json` NULL: lines. Returns how many, or an
 * error; where only a part of the journal cannot be read, the events of the rest are printed all the same.
 */
int events_print(const struct events_query *query, struct json_out *json, struct err *err);

/* A time in microseconds since 1970, at least 1; a date and a day are local time. False: it has none of these forms. */
#define EVENTS_SINCE_FORMS "YYYY-MM-DD [HH:MM[:SS]], today, yesterday, -1h, '2 days ago' or @SECONDS"
bool events_since(int64_t *us, const char *text, time_t now);
