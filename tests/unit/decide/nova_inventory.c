/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What nova-compute counts: a row's host, its sections as nova.conf's, and the definitions (in the place of requests,
 * id:parent:type); of each provider "DEVICE TYPE TOTAL=EXISTING+DEFINED+AVAILABLE", "!" limited by max_instances.
 */
#include "decide/nova_inventory.h"

#include "lib/tap.h"
#include "unit/decide/world.h"

enum { DEFINITIONS = 8, RESULT_SIZE = 1024 };

static const struct row rows[] = {
	{ "an empty card has what its driver offers", "84 s=16/16", "", "pci_84 s 16=0+0+16", "s" },
	{ "what exists counts, whoever has it", "84 s=14/16", "u1:84:s u2:84:s!", "pci_84 s 16=2+0+14", "s" },
	{ "mdevs of another type do not, but take", "84 s=0/16 l=2/4", "u1:84:l u2:84:l", "pci_84 s 0=0+0+0", "s" },
	{ "a definition without its device counts", "84 s=16/16", "", "pci_84 s 17=0+1+16", "s", "u1:84:s" },
	{ "one with its device counts once", "84 s=15/16", "u1:84:s", "pci_84 s 16=1+0+15", "s", "u1:84:s" },
	{ "one for another card than its device is another device", "84 s=15/16; 85 s=16/16", "u1:84:s",
	  "pci_84 s 16=1+0+15, pci_85 s 17=0+1+16 u1", "s", "u1:84:s u1:85:s" },
	{ "two without a device are two", "84 s=16/16; 85 s=16/16", "", "pci_84 s 17=0+1+16 u1, pci_85 s 17=0+1+16 u1",
	  "s", "u1:84:s u1:85:s" },
	{ "that of another type or parent is none of this one", "84 s=16/16; 85 s=16/16", "", "pci_84 s 16=0+0+16",
	  "s@84", "u1:84:l u2:86:s" },
	{ "each has the type that names it, the others the first without addresses", "84 s=1/1 l=4/4; 85 s=2/2 l=4/4",
	  "", "pci_84 l 4=0+0+4, pci_85 s 2=0+0+2", "s@85 l" },
	{ "a card that does not offer its type is no provider", "84 s=16/16; 85 l=4/4", "", "pci_84 s 16=0+0+16", "s" },
	{ "of a card with VFs each is one", "40+3 s=1/3", "u1:40.0:s",
	  "pci_40_0 s 1=1+0+0, pci_40_1 s 1=0+0+1, pci_40_2 s 1=0+0+1", "s" },
	{ "one that the driver has lost has none", "40+3 s=1/3", "",
	  "pci_40_0 s 1=0+0+1, pci_40_1 s 0=0+0+0, pci_40_2 s 1=0+0+1", "s; lost=40.1" },
	{ "of a card that does not answer, what exists or is defined counts", "84; 85; 86", "u1:84:s",
	  "pci_84 s 1=1+0+0, pci_85 s 1=0+1+0", "s; silent=84 silent=85 silent=86", "u2:85:s" },
	{ "the address of the card is not that of its VFs", "40+2 s=1/2", "", "", "s@40" },
	{ "but their own are", "40+2 s=1/2", "", "pci_40_1 s 1=0+0+1", "s@40.1" },
	{ "max_instances below what is available is none at all", "84 s=16/16", "", "pci_84 s 0=0+0+16!", "s<10" },
	{ "what exists goes with it", "84 s=12/16", "u1:84:s u2:84:s u3:84:s u4:84:s", "pci_84 s 0=4+0+12!", "s<10" },
	{ "the capacity is enough", "84 s=14/16", "u1:84:s u2:84:s", "pci_84 s 16=2+0+14", "s<16" },
	{ "it limits all of the type", "84 s=16/16; 85 s=16/16", "", "pci_84 s 16=0+0+16, pci_85 s 0=0+0+16!", "s<20" },
	{ "of which one that is left out takes nothing", "84 s=16/16; 85 s=2/2", "",
	  "pci_84 s 0=0+0+16!, pci_85 s 2=0+0+2", "s<10" },
	{ "definitions take of it, also those of later cards", "84 s=16/16; 85 s=0/16", "",
	  "pci_84 s 0=0+0+16!, pci_85 s 1=0+1+0", "s<16", "u1:85:s" },
	{ "a virtual parent has libvirt's name", "mtty m=24/24", "", "mtty_mtty m 24=0+0+24", "m@mtty_mtty" },
	{ "VFs that take a type are not Nova's mdevs", "x40+2 s=1/2", "", "", "s" },
};

static size_t define(const char *list, struct definition definitions[DEFINITIONS])
{
	size_t n = 0;

	each(item, list, " ")
	{
		struct definition *d = &definitions[n++];

		*d = (struct definition){ 0 };
		if (sscanf(item, "%36[^:]:%31[^:]:%31s", d->uuid, d->parent, d->type) != 3)
			abort();
	}
	return n;
}

static void run(const struct row *row)
{
	static struct setup w;
	struct row world = *row;
	struct definition definitions[DEFINITIONS];
	struct nova_inventory nova;
	char result[RESULT_SIZE] = "";

	world.requests = "";
	make_world(&w, &world);
	for (size_t i = 0; i < w.config.nsections; i++)
		w.sections[i].nova = true;
	for (size_t i = 0; i < w.inv.npgpus; i++)
		if (*w.cards[i].address != 'm')
			memcpy(w.cards[i].vendor, "10de", 5);
	nova_inventory_make(&nova, &w.inv, definitions, define(row->requests, definitions));
	for (const struct nova_provider *p = nova.providers; p < nova.providers + nova.n; p++)
		text_add(result, sizeof(result), "%s%s %s %d=%d+%d+%d%s%s%s", *result ? ", " : "", p->device,
			 p->section->type, p->total, p->existing, p->defined, p->available, p->limited ? "!" : "",
			 *p->twice ? " " : "", p->twice);
	is(result, row->result, row->says);
	nova_inventory_free(&nova);
}

static void traits(void)
{
	static const struct row row = { "", "84 s=16/16", "", "", "s" };
	static struct setup w;
	struct nova_provider provider = { 0 };
	char list[NOVA_TRAITS][TRAIT_SIZE];

	make_world(&w, &row);
	provider.section = &w.sections[0];
	provider.parent = &w.parents[0];
	memcpy(w.cards[0].vendor, "10de", 5);
	memcpy(w.cards[0].device, "1eb8", 5);
	nova_traits(list, &provider);
	is(list[0], "CUSTOM_S", "the type is a trait");
	is(list[1], "CUSTOM_PGPU_10DE_1EB8", "so is the model");
	is(list[2], "CUSTOM_VGPU_1024_MIB", "the framebuffer");
	is(list[3], "CUSTOM_VGPU_MDEV", "the framework");
	text_copy(w.sections[0].type, TYPE_SIZE, "i915-GVTg_V5.4");
	memset(w.cards[0].vendor, 0, 5);
	nova_traits(list, &provider);
	is(list[0], "CUSTOM_I915_GVTG_V5_4", "in the letters that Placement takes");
	ok(!*list[1] && !*list[2], "and what is not known is none");
}

int main(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		run(&rows[i]);
	traits();
	return tap_done();
}
