/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The times of --since. */
#include "cli/status.h"
#include "lib/tap.h"

/* 2026-03-29 12:00:00 in Berlin, where the clock went from 02:00 to 03:00 that day. */
enum { NOW = 1774778400, HOUR = 3600, DAY = 86400 };

static const struct {
	const char *text;
	int64_t at;
} times[] = {
	{ "-1h", NOW - HOUR },
	{ "-90s", NOW - 90 },
	{ "-5min", NOW - 300 },
	{ "-2m", NOW - 120 },
	{ "-2 d", NOW - 2 * DAY },
	{ "2 hours ago", NOW - 2 * HOUR },
	{ "1 week ago", NOW - 7 * DAY },
	{ "10min ago", NOW - 600 },
	{ "today", NOW - 11 * HOUR },
	{ "yesterday", NOW - 35 * HOUR },
	{ "2026-03-29", NOW - 11 * HOUR },
	{ "2026-03-29 12:00", NOW },
	{ "2026-03-29 11:59:30", NOW - 30 },
	{ "2026-03-28 12:00", NOW - 23 * HOUR },
	{ "2026-03-29T10:00:00Z", NOW },
	{ "@1774778400", NOW },
	{ "@0", 0 },
	{ "-999999999w", 0 },
};

static char not_times[] =
	"|+1h|+999999999w|someday|never|99h99|../x|-|-1|-h|- 2d|1h|-1h ago|-1month|-1hx|-1h30min|--1h|"
	"-9999999999s|2 hours ago |2 hours later|2026-02-30|2026-13-01|2026-01-01 25:00|"
	"2026-01-01 12:00:00 x|2026-01-01 12:00:00Z| 2026-01-01|12:00|@|@-1|@1x|"
	"@9223372036854775807|todays";

int main(void)
{
	int64_t us;

	setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
	for (ROWS(row, times)) {
		int64_t at = row->at ? row->at * 1000000 : 1; /* 0 would be no limit */

		ok(events_since(&us, row->text, NOW) && us == at, "%s", row->text);
	}
	for (char *rest = not_times, *text; (text = strsep(&rest, "|"));)
		ok(!events_since(&us, text, NOW), "not a time: %s", text);
	return tap_done();
}
