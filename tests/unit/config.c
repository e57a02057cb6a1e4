/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The configuration: what is understood, and what is refused in which words. */
#include "config.h"

#include "tap.h"

static void what_is_understood(void)
{
	static const char text[] = "[devices]\n"
				   "enabled_mdev_types = nvidia-35, nvidia-36   # two\n"
				   "[mdev_nvidia-35]\n"
				   "device_addresses = 0000:84:00.0,\n"
				   "  # the second card\n"
				   "  00000000:85:00.0, mtty_mtty\n"
				   "device_match = 10DE:1eb8 numa=0, numa=1\n"
				   "max_instances = 10\n"
				   "[quota]\n"
				   "project:5f1c = 4\n";
	struct config c;
	struct err err = { 0 };
	const struct section *s;

	ok(config_parse(&c, "f", text, strlen(text), NULL, &err) == 0, "a usual file is understood: %s", err.text);
	s = config_section(&c, "nvidia-35");
	ok(s && s->naddresses == 3 && strcmp(s->addresses[1], "0000:85:00.0") == 0 && strcmp(s->addresses[2], "mtty") == 0,
	   "with its addresses, over more lines");
	ok(s && s->nmatches == 2 && strcmp(s->matches[0].vendor, "10de") == 0 && s->matches[0].numa == 0 &&
		   s->matches[1].numa == 1 && !s->matches[1].vendor[0],
	   "with its matches");
	ok(c.nsections == 2 && s->max_instances == 10 && config_quota(&c, "5f1c") == 4 && config_quota(&c, "x") == NO_LIMIT,
	   "with its numbers");
	config_free(&c);
}

int main(void)
{
	what_is_understood();
	return tap_done();
}
