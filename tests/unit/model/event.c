/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Each event is in the journal's catalog, under the MESSAGE_ID that the log gives it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/source.h"
#include "lib/tap.h"
#include "model/event.h"

static char *catalog, *source;

/* The MESSAGE_ID beside the event's word in the table; "": none. */
static void find_message_id(enum event event, char id[33])
{
	char row[64];
	const char *at;

	snprintf(row, sizeof(row), "{ \"%s\", \"", event_word(event));
	at = strstr(source, row);
	snprintf(id, 33, "%.32s", at ? at + strlen(row) : "");
}

static void test_catalog(void)
{
	for (enum event event = 0; event < EVENTS; event++) {
		char heading[64], id[33], its[33];
		const char *entry;

		find_message_id(event, id);
		snprintf(heading, sizeof(heading), "\n-- %s\nSubject: ", id);
		entry = strstr(catalog, heading);
		ok(strlen(id) == 32 && strspn(id, "0123456789abcdef") == 32, "%s has a MESSAGE_ID", event_word(event));
		ok(entry != NULL, "which the catalog explains");
		ok(entry && !strstr(entry + 1, heading), "once");
		for (enum event other = 0; other < event; other++) {
			find_message_id(other, its);
			ok(strcmp(its, id) != 0, "and is not that of %s", event_word(other));
		}
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
	catalog = source_text("etc/catalog/vgpu-lease.catalog");
	source = source_text("src/model/event.c");
	test_catalog();
	test_lease();
	return tap_done();
}
