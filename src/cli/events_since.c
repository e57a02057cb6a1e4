/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Parses the times of --since: the common forms of journalctl(1), and the form that `log` prints. */
#include "cli/status.h"

#include <ctype.h>
#include <string.h>

#include "base/auto.h"
#include "base/text.h"

/* "-1h", "+30min", "2 hours ago": a unit can be abbreviated, down to its first letter. */
static bool read_distance(int64_t *at, const char *text, time_t now)
{
	static const struct {
		const char *name;
		int seconds;
	} units[] = { { "seconds", 1 }, { "minutes", 60 }, { "hours", 3600 }, { "days", 86400 }, { "weeks", 604800 } };
	bool sign = *text == '-' || *text == '+', back = *text != '+';
	const char *number = text + sign, *unit = number + strspn(number, "0123456789");
	size_t digits = (size_t)(unit - number), len;

	unit += strspn(unit, " ");
	len = strcspn(unit, " ");
	if (!digits || digits > 9 || !len || strcmp(unit + len, sign ? "" : " ago") != 0)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		if (strncmp(units[i].name, unit, len) != 0)
			continue;
		*at = now + (back ? -1 : 1) * (int64_t)atol(number) * units[i].seconds;
		return true;
	}
	return false;
}

static bool read_day(int64_t *at, const char *text, time_t now)
{
	bool yesterday = strcmp(text, "yesterday") == 0;
	struct tm tm;

	localtime_r(&now, &tm);
	tm.tm_hour = tm.tm_min = tm.tm_sec = 0;
	tm.tm_mday -= yesterday;
	tm.tm_isdst = -1;
	*at = mktime(&tm);
	return yesterday || strcmp(text, "today") == 0;
}

static bool read_date(int64_t *at, const char *text)
{
	static const char *const formats[] = { "%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M",
					       "%Y-%m-%d" };

	for (size_t i = 0; isdigit((unsigned char)*text) && i < ARRAY_SIZE(formats); i++) {
		struct tm tm = { .tm_isdst = -1 };
		const char *end = strptime(text, formats[i], &tm);
		int day = tm.tm_mday;

		if (!end || *end)
			continue;
		*at = i == 0 ? timegm(&tm) : mktime(&tm);
		return tm.tm_mday == day; /* mktime() turns 30 February into a day of March */
	}
	return false;
}

bool events_since(int64_t *us, const char *text, time_t now)
{
	long seconds;

	if (*text == '@' && text_number(text + 1, 0, INT64_MAX / 1000000, &seconds))
		*us = seconds;
	else if (!read_distance(us, text, now) && !read_day(us, text, now) && !read_date(us, text))
		return false;
	*us = *us > 0 ? *us * 1000000 : 1;
	return true;
}
