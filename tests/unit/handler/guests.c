/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a pass asks libvirt, on a host of libvirt's test driver: when it connects, and which orphans are named. */
#include "handler/handler.h"

#include "lib/leases.h"

#define NAMED "6695eb01-f6a4-8304-79aa-97f2502e193f" /* in the XML of the driver's own domain */

static struct gc_item items[2];
static struct gc found = { .items = items, .n = 2 };

static void find_orphans(void)
{
	items[0] = items[1] = (struct gc_item){ .novas = true, .outcome = GC_GOES };
	strcpy(items[0].vgpu.id, NAMED);
	strcpy(items[1].vgpu.id, A);
}

static void asked(void)
{
	struct guests guests = { .asks = true, .uri = "test:///default" };

	find_orphans();
	guests_keep_named(&guests, &found);
	ok(guests.virt && guests.connected, "it connects when there is something to ask");
	is(guests.state, "connected to libvirt", "and says so");
	ok(items[0].outcome == GC_STAYS && items[1].outcome == GC_GOES,
	   "a UUID in a domain's XML is named, another is not");
	guests_hang_up(&guests);
	ok(!guests.virt && guests.connected, "the connection ends with the pass; its state is remembered");
}

static void silent(void)
{
	struct guests guests = { .asks = true, .uri = "test:///nowhere/node.xml" };

	find_orphans();
	guests_keep_named(&guests, &found);
	ok(items[0].outcome == GC_STAYS && items[1].outcome == GC_STAYS, "without an answer, each may be named");
	ok(!guests.connected && strncmp(guests.state, "not connected", 13) == 0, "%s", guests.state);
	guests.uri = "test:///default";
	ok(!guests_connect(&guests), "a pass tries once");
	guests_hang_up(&guests);
	ok(guests_connect(&guests), "and the next one again");
	guests_hang_up(&guests);
	guests.asks = false;
	ok(!guests_connect(&guests), "a handler of another host never does");
}

static void told(void)
{
	struct guests guests = { .asks = true, .uri = "test:///default", .untold = "a refusal" };
	const struct gc pass = { .world.store = &store };

	guests_tell(&guests, &pass);
	is(guests.untold, "a refusal", "a refusal of libvirt's has not ended while libvirt is not asked");
	guests_connect(&guests);
	guests_tell(&guests, &pass);
	is(guests.untold, "", "with nothing left to write, it has");
	guests_hang_up(&guests);
}

HOST_TESTS("run/\nvar/lib/\n", asked, silent, told)
