/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a plan makes of a domain's XML; what becomes of definitions is in tests/system/cli/rewrite.sh. */
#include "act/rewrite.h"

#include "lib/tap.h"
#include "lib/xml.h"

#define NEW "11111111-2222-4333-8444-55555555555a"
#define CARD "0000:84:00.0"
#define MDEV(uuid)                                                                                                     \
	"<hostdev type='mdev' managed='no' model='vfio-pci'><source><address uuid='" uuid "'/></source></hostdev>"
#define LEASED(devices, hostdevs) DOMAIN(LEASE(devices), hostdevs)

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
	{ PLAN_RESTORE, STEP(A), LEASED("<v:device uuid='" A "' type='t' driver='1'/>", MDEV(A)), NULL,
	  "where no id changes nothing does, the source's facts included" },
	{ PLAN_RESTORE, STEP(NEW), LEASED("<v:device uuid='" A "' type='t' driver='1'/>", MDEV(A)),
	  LEASED("<v:device uuid='" NEW "' name='GRID T4-1B' framework='mdev' model='10de:1eb8' type='nvidia-222' "
		 "driver='2'/>",
		 MDEV(NEW)),
	  "an arrival gets the id in both places, and this host's facts" },
	{ PLAN_PREPARE, STEP(NEW), LEASED("<v:device uuid='" A "' type='t' driver='1'/>", MDEV(A)),
	  LEASED("<v:device uuid='" NEW "' type='t' driver='1'/>", MDEV(NEW)), "a start keeps the facts" },
	{ PLAN_MIGRATE,
	  { .vgpu = { .framework = FW_VARIANT, .id = "0000:41:00.4", .type = "nvidia-222", .pgpu = CARD } },
	  LEASED("", MDEV(A)),
	  LEASED("", "<hostdev type='pci' managed='no'><source><address domain='0x0000' bus='0x41' slot='0x00' "
		     "function='0x4'/></source></hostdev>"),
	  "a step of the other kind changes the hostdev's type" },
};

static struct err err;

static void by_plan(void)
{
	struct inventory inv = { .pgpus = cards, .npgpus = 1, .types = types, .ntypes = 1, .nvidia_driver = "2" };

	for (ROWS(row, rows)) {
		struct step step = row->step;
		const struct plan plan = { .kind = PLAN_STEPS, .steps = &step, .nsteps = 1 };
		struct world survey = { .mode = row->mode, .inv = inv };
		autodomxml struct domxml *doc = NULL;
		struct rewritten rewritten;

		if (!ok(domxml_parse(&doc, row->before, strlen(row->before), 0, &err) == 0, "%s: parses",
			row->sentence))
			continue;
		survey.asked = domxml_request(doc);
		ok(rewrite_plan(&rewritten, doc, &survey, &plan, &err) == 0 && rewritten.changed == !!row->after,
		   "%s: told so", row->sentence);
		is(rewritten.xml, row->after ? row->after : row->before, row->sentence);
		free(rewritten.xml);
	}
}

static void refused_plan(void)
{
	static const char xml[] = LEASED("", MDEV(A) MDEV(B));
	struct step steps[] = { STEP(NEW), STEP(NEW) };
	const struct plan plan = { .kind = PLAN_STEPS, .steps = steps, .nsteps = 2 };
	struct world survey = { .mode = PLAN_RESTORE };
	autodomxml struct domxml *doc = NULL;
	struct rewritten rewritten;

	if (domxml_parse(&doc, xml, sizeof(xml) - 1, 0, &err) < 0)
		return;
	survey.asked = domxml_request(doc);
	ok_err(rewrite_plan(&rewritten, doc, &survey, &plan, &err) < 0 && !rewritten.xml && !rewritten.changed,
	       "two vGPUs of one id are refused, and nothing is handed over");
}

TESTS(by_plan, refused_plan)
