/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a plan, and a definition's placeholders, make of a domain's XML. */
#include "ops/rewrite.h"

#include <stdlib.h>

#include "base/auto.h"
#include "lib/tap.h"

#define A "c6f1a2b3-0000-4000-8000-00000000000a"
#define B "c6f1a2b3-0000-4000-8000-00000000000b"
#define NEW "11111111-2222-4333-8444-55555555555a"
#define NIL "00000000-0000-0000-0000-000000000000"
#define CARD "0000:84:00.0"
#define MDEV(uuid)                                                                                                     \
	"<hostdev type='mdev' managed='no' model='vfio-pci'><source><address uuid='" uuid "'/></source></hostdev>"
#define VF(slot)                                                                                                       \
	"<hostdev type='pci' managed='no'><source><address domain='0x0000' bus='0x41' slot='0x00' function='" slot     \
	"'/></source></hostdev>"
#define OPENING "<domain><name>a</name><uuid>67a42c8b-1111-4000-8000-000000000001</uuid><metadata><v:lease xmlns:v='"
#define DOMAIN(devices, hostdevs)                                                                                      \
	OPENING DOMXML_NS "'>" devices "</v:lease></metadata><devices>" hostdevs "</devices></domain>"

static struct inv_type type = { .vendor = "10de", .device = "1eb8", .id = "nvidia-222", .name = "GRID T4-1B" };
static struct inv_type *types[] = { &type };
static struct inv_pgpu card = {
	.address = CARD, .vendor = "10de", .device = "1eb8", .nvidia = true, .framework = FW_MDEV
};
static struct inv_pgpu *cards[] = { &card };

#define STEP(uuid)                                                                                                     \
	{                                                                                                              \
		.vgpu = {.id = uuid, .type = "nvidia-222", .parent = CARD, .pgpu = CARD }                              \
	}

static const struct {
	enum plan_mode mode;
	struct step step;
	const char *before, *after; /* NULL: as before, and not changed */
	const char *sentence;
} rows[] = {
	{ PLAN_RESTORE, STEP(A), DOMAIN("<v:device uuid='" A "' type='t' driver='1'/>", MDEV(A)), NULL,
	  "where no id changes nothing does, the source's facts included" },
	{ PLAN_RESTORE, STEP(NEW), DOMAIN("<v:device uuid='" A "' type='t' driver='1'/>", MDEV(A)),
	  DOMAIN("<v:device uuid='" NEW "' name='GRID T4-1B' framework='mdev' model='10de:1eb8' type='nvidia-222' "
		 "driver='2'/>",
		 MDEV(NEW)),
	  "an arrival gets the id in both places, and this host's facts" },
	{ PLAN_PREPARE, STEP(NEW), DOMAIN("<v:device uuid='" A "' type='t' driver='1'/>", MDEV(A)),
	  DOMAIN("<v:device uuid='" NEW "' type='t' driver='1'/>", MDEV(NEW)), "a start keeps the facts" },
	{ PLAN_MIGRATE,
	  { .vgpu = { .framework = FW_VARIANT, .id = "0000:41:00.4", .type = "nvidia-222", .pgpu = CARD } },
	  DOMAIN("", MDEV(A)),
	  DOMAIN("", VF("0x4")),
	  "a step of the other kind changes the hostdev's type" },
};

static struct err err;

static void by_plan(void)
{
	struct inventory inv = { .pgpus = cards, .npgpus = 1, .types = types, .ntypes = 1, .nvidia_driver = "2" };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct step step = rows[i].step;
		const struct plan plan = { .kind = PLAN_STEPS, .steps = &step, .nsteps = 1 };
		struct world survey = { .mode = rows[i].mode, .inv = inv };
		autodomxml struct domxml *doc = NULL;
		struct rewritten rewritten;

		if (!ok(domxml_parse(&doc, rows[i].before, strlen(rows[i].before), 0, &err) == 0, "row %zu parses", i))
			continue;
		survey.asked = domxml_request(doc);
		ok(rewrite_plan(&rewritten, doc, &survey, &plan, &err) == 0 && rewritten.changed == !!rows[i].after,
		   "%s: told so", rows[i].sentence);
		is(rewritten.xml, rows[i].after ? rows[i].after : rows[i].before, rows[i].sentence);
		free(rewritten.xml);
	}
}

static void refused_plan(void)
{
	static const char xml[] = DOMAIN("", MDEV(A) MDEV(B));
	struct step steps[] = { STEP(NEW), STEP(NEW) };
	const struct plan plan = { .kind = PLAN_STEPS, .steps = steps, .nsteps = 2 };
	struct world survey = { .mode = PLAN_RESTORE };
	autodomxml struct domxml *doc = NULL;
	struct rewritten rewritten;

	if (domxml_parse(&doc, xml, sizeof(xml) - 1, 0, &err) < 0)
		return;
	survey.asked = domxml_request(doc);
	ok(rewrite_plan(&rewritten, doc, &survey, &plan, &err) < 0 && !rewritten.xml && !rewritten.changed,
	   "two vGPUs of one id are refused, and nothing is handed over: %s", err.text);
}

/* What rewrite_begin() finds in the document, as indices of the request; asks: rewrite_asks(). */
static const struct {
	bool all, vfs;
	const char *xml, *changes;
	bool asks;
	const char *sentence;
} definitions[] = {
	{ false, true, DOMAIN("", MDEV(A) MDEV(NIL)), "1", false, "a placeholder changes, without metadata by itself" },
	{ true, true, DOMAIN("", MDEV(A) MDEV(NIL)), "01", false, "with `all` each mdev does" },
	{ false, false, DOMAIN("<v:device uuid='" NIL "'/>", MDEV(NIL)), "0", true,
	  "for its <vgpu:device> the host is asked" },
	{ false, false, DOMAIN("<v:device uuid='" A "'/>", MDEV(A)), "", false, "not for one that keeps its UUID" },
	{ true, true, DOMAIN("<v:device address='0000:41:00.4'/>", VF("0x4")), "", true,
	  "of a VF that the metadata name the plan decides" },
	{ true, false, DOMAIN("<v:device address='0000:41:00.4'/>", VF("0x4")), "", false, "where VFs may change" },
	{ true, true, DOMAIN("", VF("0x4")), "", false, "a VF that the metadata do not name is not ours" },
};

static void of_definitions(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(definitions); i++) {
		struct rewrite r = { .xml = definitions[i].xml,
				     .len = strlen(definitions[i].xml),
				     .all = definitions[i].all,
				     .vfs = definitions[i].vfs };
		char changes[8] = "";

		if (!ok(rewrite_begin(&r, &err) == 0, "row %zu parses", i))
			continue;
		for (size_t c = 0; c < r.nchanges; c++)
			snprintf(changes + c, sizeof(changes) - c, "%zu", r.changes[c].req);
		is(changes, definitions[i].changes, definitions[i].sentence);
		ok(rewrite_asks(&r) == definitions[i].asks, "%s: asks the host", definitions[i].sentence);
		rewrite_end(&r);
	}
}

/* Without a configuration the host is not asked: UUIDs change, facts and VFs stay. */
static void without_host(void)
{
	static const char xml[] = DOMAIN("<v:device uuid='" NIL "' driver='1'/><v:device address='0000:41:00.4'/>",
					 MDEV(NIL) VF("0x4"));
	struct rewrite r = { .xml = xml, .len = sizeof(xml) - 1, .vfs = true };
	char uuid[UUID_SIZE];

	if (!ok(rewrite_begin(&r, &err) == 0 && r.nchanges == 1, "a placeholder beside a VF"))
		return;
	ok(uuid_parse(uuid, r.changes[0].id) && !uuid_is_placeholder(uuid), "gets a UUID that is none");
	ok(rewrite_make(&r, NULL, NULL, &err) == 0 && r.rewritten_len == strlen(r.rewritten), "and is rewritten");
	ok(strstr(r.rewritten, "driver='1'") && strstr(r.rewritten, VF("0x4")) && !strstr(r.rewritten, NIL),
	   "facts and VF are as they were");
	rewrite_end(&r);
}

TESTS(by_plan, refused_plan, of_definitions, without_host)
