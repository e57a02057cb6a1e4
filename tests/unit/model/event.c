/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Each event is in the journal's catalog, under the MESSAGE_ID that the log gives it. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sys/sys.h"
#include "lib/tap.h"
#include "model/event.h"

static char catalog[16384];

static void test_catalog(void)
{
	for (enum event event = 0; event < EVENTS; event++) {
		const char *id = event_message_id(event), *entry;
		char heading[64];

		snprintf(heading, sizeof(heading), "\n-- %s\nSubject: ", id);
		entry = strstr(catalog, heading);
		ok(strlen(id) == 32 && strspn(id, "0123456789abcdef") == 32, "%s has a MESSAGE_ID", event_word(event));
		ok(entry != NULL, "which the catalog explains");
		ok(entry && !strstr(entry + 1, heading), "once");
		for (enum event other = 0; other < event; other++)
			ok(strcmp(event_message_id(other), id) != 0, "and is not that of %s", event_word(other));
	}
}

static void test_lease(void)
{
	const struct lease lease = { .domain = "00000001-0000-4000-8000-00000000000d", .name = "vm" };
	const struct event_about about = event_of(&lease);

	ok(about.vgpu == &lease.vgpu, "an event of a lease is about its vGPU");
	is(about.domain, lease.domain, "and its domain");
	is(about.name, "vm", "by name, too");
}

int main(void)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/etc/catalog/vgpu-lease.catalog", getenv("srcdir"));
	ok(sys_read(AT_FDCWD, path, catalog, sizeof(catalog)) > 0, "%s is there", path);
	test_catalog();
	test_lease();
	return tap_done();
}
