/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which pGPU serves which type: of each card of a row "ADDRESS TYPE", "!" it is not in the pool, "," its VFs that are,
 * with their types; "-" no type, "?" two sections claim it.
 */
#include "look/pool.h"

#include "lib/tap.h"
#include "unit/decide/world.h"

enum { RESULT_SIZE = 256 };

static const struct row rows[] = {
	{ "a type without addresses takes the cards that offer it", "84 s=1/1; 85 l=1/1", "", "84 s, 85 -!", "s" },
	{ "of two without addresses the first counts", "84 s=1/1 l=1/1", "", "84 s", "s l" },
	{ "an address goes before it", "84 s=1/1 l=1/1; 85 s=1/1 l=1/1", "", "84 s, 85 l", "s l@85" },
	{ "a card that two types name is in neither", "84 s=1/1 l=1/1", "", "84 ?!", "s@84 l@84" },
	{ "also if it offers one of them only", "84 s=1/1", "", "84 ?!", "s@84 l@84" },
	{ "with several types a card serves both", "84 s=1/1 l=1/1", "", "84 s", "s@84 l@84; several" },
	{ "the first that it offers stands for them", "84 l=1/1", "", "84 l", "s@84 l@84; several" },
	{ "a card that is named and does not offer its type is not in the pool", "84 l=1/1", "", "84 s!", "s@84" },
	{ "nor is one that is not ready", "84 s=1/1; 85 s=1/1", "", "84 s!, 85 s", "s; notready=84" },
	{ "a card that no section names is nobody's", "84 s=1/1; 85 s=1/1", "", "84 s, 85 -!", "s@84" },
	{ "an address that is missing changes no other card", "84 s=1/1", "", "84 s", "s@84,99" },
	{ "of a card whose VFs are named only these are in the pool", "40+3 s=1/3", "", "40 s,40.1=s", "s@40.1" },
	{ "of one that is named itself all are", "40+2 s=1/2", "", "40 s,40.0=s,40.1=s", "s@40" },
	{ "two types share a card's VFs", "40+4 s=1/4 l=1/4", "", "40 s,40.0=s,40.1=l,40.3=s", "s@40.0,40.3 l@40.1" },
	{ "of several types, too", "40+4 s=1/4 l=1/4", "", "40 s,40.0=s,40.1=l,40.3=s", "s@40.0,40.3 l@40.1; several" },
	{ "then one VF can have both", "40+2 s=1/2 l=1/2", "", "40 s,40.0=s,40.1=s+l", "s@40.0,40.1 l@40.1; several" },
	{ "a VF can have a type of its own", "40+3 s=1/2 l=1/2", "", "40 s,40.0=s,40.1=l,40.2=s", "s@40 l@40.1" },
	{ "with several types it has none of the card's", "40+2 s=1/2 l=1/2 m=1", "", "40 s,40.0=s+m,40.1=l",
	  "s@40 m@40 l@40.1; several" },
	{ "of two types for VFs the card may offer one alone", "40+2 l=1/2", "", "40 l,40.1=l", "s@40.0 l@40.1" },
	{ "a card with two types is in neither, even with VFs", "40+2 s=1/2 l=1/2", "", "40 ?!", "s@40 l@40 m@40.1" },
	{ "a card whose VFs are named gets no type without cards", "40+2 s=1/2 l=1/2", "", "40 s,40.0=s", "s@40.0 l" },
	{ "Nova's name of a virtual parent is its address", "mtty m=24/24", "", "mtty m", "m@mtty_mtty" },
};

/* Appends ",40.1=s+l". */
static void add_vf(char result[RESULT_SIZE], const struct setup *w, const struct inv_parent *vf)
{
	const char *before = "=";

	for (size_t i = 0; pool_has_parent(vf) && i < w->config.nsections; i++) {
		if (!pool_gives(vf, w->sections[i].type))
			continue;
		if (*before == '=')
			text_add(result, RESULT_SIZE, ",%s", vf->name);
		text_add(result, RESULT_SIZE, "%s%s", before, w->sections[i].type);
		before = "+";
	}
}

static void run(const struct row *row)
{
	static struct setup w;
	char result[RESULT_SIZE] = "";

	make_world(&w, row);
	for (size_t g = 0; g < w.inv.npgpus; g++) {
		const struct inv_pgpu *pgpu = &w.cards[g];
		const struct pool_card *card = &pgpu->pool;

		text_add(result, sizeof(result), "%s%s %s%s", g ? ", " : "", pgpu->address,
			 card->section                 ? card->section->type
			 : card->claim > CLAIM_DEFAULT ? "?"
						       : "-",
			 card->in_pool ? "" : "!");
		for (int p = 0; pgpu->sriov && p < pgpu->nparents; p++)
			add_vf(result, &w, pgpu->parents[p]);
		if (!card->in_pool)
			ok(*card->reason, "%s has a reason: %s", pgpu->address, card->reason);
	}
	is(result, row->result, row->says);
}

static const char *types_of(const struct setup *w, bool mdev, const struct inv_parent *parent)
{
	const struct section **list = pool_types(&w->inv, mdev, parent);
	static char text[64];

	text[0] = '\0';
	for (size_t i = 0; list[i]; i++)
		text_add(text, sizeof(text), "%s%s", i ? " " : "", list[i]->type);
	free(list);
	return text;
}

static void types(void)
{
	static const struct row both = { "", "84 s=1/1; 85 l=1/1", "", "", "s@84 l@85; notready=84" };
	static const struct row none = { "", "84 s=1/1", "", "", "l@85 w@86" };
	static struct setup w;

	make_world(&w, &both);
	is(types_of(&w, true, NULL), "l", "a type with a card that is ready goes before one without");
	is(types_of(&w, true, &w.parents[0]), "s", "on a card that is not ready it is the card's own");
	is(types_of(&w, false, NULL), "", "for VFs, cards with mdevs have none");
	make_world(&w, &none);
	is(types_of(&w, true, NULL), "l w", "where no type has a card, it can be any of them");
	is(types_of(&w, true, &w.parents[0]), "", "but not on a certain card");
}

static void matched(void)
{
	static const struct row row = { "", "84 s=1/1", "", "", "l@91 w@92 s@93" };
	static struct match any = { .numa = -1 };
	static struct setup w;

	make_world(&w, &row);
	for (int i = 0; i < 3; i++) {
		w.sections[i].naddresses = 0;
		w.sections[i].matches = &any;
		w.sections[i].nmatches = 1;
	}
	w.cards[0].pool = (struct pool_card){ 0 };
	pool_make(&w.inv, &w.config);
	ok(w.cards[0].pool.in_pool && w.cards[0].pool.section == &w.sections[2],
	   "a card that several sections match is that one's whose type it offers, also the last's");
}

static void names(void)
{
	static const struct {
		const char *says;
		struct match match;
		bool fits;
	} matches[] = {
		{ "a match without terms fits each card", { .numa = -1 }, true },
		{ "a vendor", { .vendor = "10de", .numa = -1 }, true },
		{ "another vendor does not", { .vendor = "8086", .numa = -1 }, false },
		{ "all terms must hold", { .vendor = "10de", .device = "1eb8", .numa = 0 }, false },
		{ "and do", { .vendor = "10de", .device = "1eb8", .numa = 1 }, true },
		{ "a subsystem", { .device = "1eb8", .subdevice = "12a2", .numa = -1 }, true },
		{ "another board of the same ID does not",
		  { .device = "1eb8", .subdevice = "129e", .numa = -1 },
		  false },
	};
	const struct inv_pgpu card = {
		.address = "0000:84:00.0", .vendor = "10de", .device = "1eb8", .subsystem = "10de:12a2", .numa = 1
	};
	const struct inv_pgpu no_board = { .vendor = "10de", .device = "1eb8", .numa = 1 };
	struct item addresses[] = { { .text = "0000:84:00.0" } };
	struct section section = { .addresses = addresses, .naddresses = 1 };
	const struct config config = { .sections = &section, .nsections = 1 };

	for (size_t i = 0; i < ARRAY_SIZE(matches); i++)
		ok(pool_match(&matches[i].match, &card) == matches[i].fits, "%s", matches[i].says);
	ok(!pool_match(&matches[ARRAY_SIZE(matches) - 2].match, &no_board),
	   "a card whose subsystem is not known fits no match that asks for one");
	ok(pool_section_names(&section, "0000:84:00.0") && !pool_section_names(&section, "0000:85:00.0"),
	   "a section names its addresses");
	ok(pool_names(&config, &card, "") && !pool_names(&config, &(struct inv_pgpu){ .address = "x" }, "0000:99:00.1"),
	   "a card that none names is not meant");
	addresses[0].text = "0000:99:00.1";
	ok(pool_names(&config, &(struct inv_pgpu){ .address = "x" }, "0000:99:00.1"), "one is by its VF");
}

int main(void)
{
	for (ROWS(row, rows))
		run(row);
	types();
	matched();
	names();
	return tap_done();
}
