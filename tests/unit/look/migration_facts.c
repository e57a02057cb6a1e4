/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What travels with a domain of its vGPUs. What its definition gets is in tests/system/cli/rewrite.sh. */
#include "look/migration_facts.h"

#include "lib/tap.h"
#include "lib/vgpu.h"
#include "lib/xml.h"
#include "unit/decide/world.h"

static struct inv_type types[] = {
	{ .vendor = "10de", .device = "1eb8", .subsystem = "10de:9999", .id = "nvidia-222", .name = "Another board" },
	{ .vendor = "10de", .device = "1eb8", .subsystem = "10de:12a2", .id = "nvidia-222", .name = "GRID T4-1B" },
	{ .framework = FW_VARIANT, .vendor = "10de", .device = "1db6", .id = "nvidia-222", .name = "GRID V100-1B" },
	{ .id = "mtty-2", .name = "Zweifach-Anschlu\xc3\x9f" },
};
static struct inv_type *kinds[] = { &types[0], &types[1], &types[2], &types[3] };
static struct setup w;
static struct err err;

/* A T4, a V100 and a card without a vendor; the vGPUs B, whose parent is gone, and C, which has no type yet. */
static void make_host(void)
{
	static const struct row host = { .cards = "84; x85+1; vtty",
					 .there = A ":84:nvidia-222 " B ":gone:nvidia-222 " C ":84:",
					 .config = "; driver=550.90.05" };

	make_world(&w, &host);
	w.inv.types = kinds;
	w.inv.ntypes = ARRAY_SIZE(kinds);
	for (int i = 0; i < 2; i++)
		strcpy(w.cards[i].vendor, "10de");
	strcpy(w.cards[0].device, "1eb8");
	strcpy(w.cards[0].subsystem, "10de:12a2");
	strcpy(w.cards[1].device, "1db6");
}

static const char *told(const struct migration_facts *s)
{
	static char text[512];

	snprintf(text, sizeof(text), "%s|%s|%s|%s|%s", s->type, s->name, s->framework, s->model, s->driver);
	return text;
}

static void from_inventory(void)
{
	struct migration_facts facts, other;

	make_host();
	migration_facts_type(&facts, &w.inv, &w.cards[1], "nvidia-222");
	is(told(&facts), "nvidia-222|GRID V100-1B|variant|10de:1db6|550.90.05", "a type has its name on that card");
	migration_facts_type(&other, &w.inv, &w.cards[0], "nvidia-222");
	migration_facts_common(&facts, &other);
	is(told(&facts), "nvidia-222||||550.90.05", "of two cards only what they share is kept");
	migration_facts_type(&facts, &w.inv, &w.cards[2], "mtty-2");
	is(told(&facts), "mtty-2||mdev||", "no model, no NVIDIA driver, no name that is not ASCII");
}

/* What the element has of four leased vGPUs: C has no type yet, and D does not exist. */
static void of_leased(void)
{
	static const char xml[] = DOMAIN("", MDEV_XML(A) MDEV_XML(B) MDEV_XML(C) MDEV_XML(D));
	static const char *const ids[] = { A, B, C, D };
	autodomxml struct domxml *doc = NULL;
	autoleases struct leases leases = { 0 };
	autofree char *got = NULL, *none = NULL;

	make_host();
	if (!ok(domxml_parse(&doc, xml, strlen(xml), 0, &err) == 0, "a domain with four vGPUs is read"))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
		struct lease lease = lease_for(domxml_request(doc), MDEV("84", "nvidia-222", ids[i]));

		lease.state = LEASE_ACTIVE;
		lease_add(&leases, &lease);
	}
	got = migration_facts_element(doc, &w.inv, &leases);
	is(got,
	   "<lease>\n  <device uuid='" A
	   "' type='nvidia-222' name='GRID T4-1B' framework='mdev' model='10de:1eb8' driver='550.90.05'/>\n"
	   "  <device uuid='" B "' type='nvidia-222'/>\n</lease>",
	   "a vGPU that exists is marked with all that is known of it; with its type, if its parent is not registered");
	for (size_t i = 0; i < leases.n; i++)
		leases.list[i].state = LEASE_RELEASING;
	none = migration_facts_element(doc, &w.inv, &leases);
	ok(!none, "one that is being released is not");
}

#define INSTANCE NOVA_XML("")
#define PLUGGED(metadata) DOMAIN(metadata, MDEV_XML(A) MDEV_XML(B))

/* An instance of Nova with the first of them, whose address in the guest libvirt has written. */
#define NOVA(devices)                                                                                                  \
	DOMAIN(INSTANCE LEASE(devices),                                                                                \
	       "<hostdev type='mdev' model='vfio-pci'><source><address uuid='" A "'/></source>"                        \
	       "<address type='pci' domain='0x0000' bus='0x00' slot='0x05' function='0x0'/></hostdev>")

#define KNOWN                                                                                                          \
	{ .type = "nvidia-222", .name = "<'&\">", .framework = "mdev", .model = "10de:1eb8", .driver = "550.90.05" }
static const struct migration_facts known[2] = { KNOWN }, known_and_type[2] = { KNOWN, { .type = "t" } };
static const struct migration_facts only_type[2] = { { .type = "t" } }, only_driver[2] = { { .driver = "2" } };
#define FACTS_OF_IT                                                                                                    \
	" type='nvidia-222' name='&lt;&apos;&amp;&quot;>' framework='mdev' model='10de:1eb8' driver='550.90.05'"

static void into_metadata(void)
{
	static const struct {
		const char *xml;
		const struct migration_facts *facts_list;
		const char *req, *sentence;
	} rows[] = {
		{ PLUGGED(""), known, "<lease>\n  <device uuid='" A "'" FACTS_OF_IT "/>\n</lease>",
		  "a vGPU without metadata gets some; the other, of which nothing is known, gets none" },
		{ PLUGGED(LEASE_XML(
			  " project='p&amp;q'><v:device uuid='" A
			  "' type='VGPU' driver='1' placement='spread' numa='3' params='a=1'/><v:device uuid='" B
			  "' type='t' driver='2' numa='none'/>")),
		  known,
		  "<lease project='p&amp;q'>\n  <device uuid='" A "'" FACTS_OF_IT
		  " placement='spread' numa='3' params='a=1'/>\n  <device uuid='" B
		  "' type='t' driver='2' numa='none'/>\n</lease>",
		  "facts are replaced; what people wrote, and what nothing new is known of, stays" },
		{ PLUGGED(LEASE("<v:device uuid='" A "' name='x' framework='vf'/>")), only_type,
		  "<lease>\n  <device uuid='" A "' type='t'/>\n</lease>",
		  "facts that are not known here are not carried on" },
		{ PLUGGED(LEASE("<v:device address='0000:41:00.4' type='s' placement='pack'/>"
				"<v:device uuid='" C "' numa='nonsense' type='u'/>")),
		  known,
		  "<lease>\n  <device uuid='" A "'" FACTS_OF_IT
		  "/>\n  <device address='0000:41:00.4' type='s' placement='pack'/>\n"
		  "  <device uuid='" C "' type='u'/>\n</lease>",
		  "metadata of a vGPU that is not plugged in stays, as far as it makes sense" },
		{ PLUGGED(NOVA_XML("<nova:owner><nova:project uuid='nova'/></nova:owner>")
				  LEASE_XML(" project='own'>")),
		  known, "<lease project='own'>\n  <device uuid='" A "'" FACTS_OF_IT "/>\n</lease>",
		  "the lease's project stays the lease's, though Nova's counts" },
		{ PLUGGED(LEASE("<v:device uuid='" A "'" FACTS_OF_IT " numa='1'/>")), known, NULL,
		  "where all is there already, nothing is to be set" },
		{ PLUGGED(INSTANCE LEASE("<v:device uuid='" B "' type='t'/><v:device uuid='" C "'" FACTS_OF_IT "/>")),
		  known_and_type,
		  "<lease>\n  <device uuid='" A "'" FACTS_OF_IT "/>\n  <device uuid='" B "' type='t'/>\n</lease>",
		  "where Nova's migration changed the UUID only, it is set anew" },
		{ PLUGGED(LEASE("<v:device uuid='" A "' driver='1'/>")), only_driver, NULL,
		  "nor where no type is known" },
		{ NOVA(""), known, "<lease>\n  <device uuid='" A "'" FACTS_OF_IT " guest='0000:00:05.0'/>\n</lease>",
		  "an instance's hostdev is known by its address in the guest, too" },
		{ NOVA("<v:device uuid='" A "'" FACTS_OF_IT "/>"), known,
		  "<lease>\n  <device uuid='" A "'" FACTS_OF_IT " guest='0000:00:05.0'/>\n</lease>",
		  "which is added where an earlier version has not written it" },
		{ NOVA("<v:device uuid='" A "'" FACTS_OF_IT " guest='0000:00:06.0'/><v:device uuid='" B
		       "' type='t' guest='0000:00:07.0'/>"),
		  known,
		  "<lease>\n  <device uuid='" A "'" FACTS_OF_IT " guest='0000:00:05.0'/>\n  <device uuid='" B
		  "' type='t' guest='0000:00:07.0'/>\n</lease>",
		  "corrected where the hostdev has another one now, and kept of a vGPU that is not plugged in" },
		{ NOVA("<v:device uuid='" A "'" FACTS_OF_IT " guest='0000:00:05.0'/>"), known, NULL,
		  "and then nothing is to be set" },
	};

	for (ROWS(row, rows)) {
		autodomxml struct domxml *doc = NULL;
		autofree char *got = NULL;

		if (ok(domxml_parse(&doc, row->xml, strlen(row->xml), 0, &err) == 0, "the domain is read: %s",
		       err.text)) {
			got = domxml_lease(doc, row->facts_list);
			is(got, row->req, row->sentence);
		}
	}
}

TESTS(from_inventory, of_leased, into_metadata)
