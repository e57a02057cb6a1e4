/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Plain SR-IOV VFs: the cards that somebody has a name for. Nothing is made of these VFs, so there are no types. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/file.h"
#include "internal.h"
#include "base/text.h"

/* The VFs of a card, behind all parents that there are. */
static void read_vfs(struct inventory *inv, int card)
{
	char vf[PCI_SIZE], path[32];

	for (size_t n = 0; n < UINT16_MAX && inv_read_virtfn(vf, card, n); n++) {
		struct inv_parent parent = { .pgpu = (int)inv->npgpus };

		text_copy(parent.name, sizeof(parent.name), vf);
		snprintf(path, sizeof(path), "virtfn%zu/driver", n);
		if (file_link_base(card, path, parent.driver, sizeof(parent.driver)) < 0)
			parent.driver[0] = '\0';
		inv_append(&inv->parents, &inv->nparents, &parent, sizeof(parent));
	}
}

/* Gives the card the one thing that it offers: its VFs, under their name. */
static void offer_name(struct inventory *inv, struct inv_pgpu *card, const char *name)
{
	struct inv_type type = {
		.api = "vfio-pci", .framebuffer_mib = UNKNOWN, .heads = UNKNOWN, .max_instance = UNKNOWN
	};
	int t = inv_find_type(inv, card, name);

	if (t < 0) {
		memcpy(type.vendor, card->vendor, sizeof(type.vendor));
		memcpy(type.device, card->device, sizeof(type.device));
		text_copy(type.id, sizeof(type.id), name);
		text_copy(type.name, sizeof(type.name), name);
		t = inv_append(&inv->types, &inv->ntypes, &type, sizeof(type));
	}
	inv_offer_type(card, t, 1);
}

/* `before`: how many parents there are that are sorted by name. */
static void read_card(struct inv_reader *reader, const char *address, int dir, size_t before)
{
	struct inventory *inv = reader->inv;
	struct inv_pgpu card = { .framework = FW_VF, .numa = UNKNOWN, .ready = true, .sriov = true };
	size_t had = inv->nparents;
	const char *name = NULL;

	read_vfs(inv, dir);
	text_copy(card.address, sizeof(card.address), address);
	inv_read_card(&card, dir);
	/* VFs that are mdev parents are given out as such. */
	if (inv->nparents > had &&
	    !(before && bsearch(inv->parents[had].name, inv->parents, before, sizeof(*inv->parents), inv_by_name)))
		name = reader->query->vf_name(reader->query->arg, &card, inv->parents + had, inv->nparents - had);
	if (!name) {
		inv->nparents = had;
		return;
	}
	offer_name(inv, &card, name);
	inv_append(&inv->pgpus, &inv->npgpus, &card, sizeof(card));
}

/* All cards that have VFs. */
static int read_all(struct inv_reader *reader, size_t before, struct err *err)
{
	const struct dirent *e;
	autoclosedir DIR *d = NULL;
	int r = host_list(&d, reader->host, "sys/bus/pci/devices", err);

	while (d && (e = readdir(d))) {
		char pci[PCI_SIZE], path[PCI_SIZE + 16], vf[PCI_SIZE];

		if (!pci_parse(pci, e->d_name) || strcmp(pci, e->d_name) != 0)
			continue;
		/* Most devices have no VFs, and end here. */
		snprintf(path, sizeof(path), "%s/virtfn0", pci);
		if (file_link_base(file_list_fd(d), path, vf, sizeof(vf)) < 0 ||
		    inv_find_pgpu(reader->inv, pci) != UNKNOWN)
			continue;
		autoclose int dir = openat(file_list_fd(d), pci, O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (dir >= 0)
			read_card(reader, pci, dir, before);
	}
	return r;
}

int inv_read_vfs(struct inv_reader *reader, struct err *err)
{
	const char *const *cards = reader->query->cards;
	size_t before = reader->inv->nparents;
	int r;

	if (!(reader->query->frameworks & INV_VF) || !reader->query->vf_name)
		return 0;
	r = cards ? 0 : read_all(reader, before, err);
	for (; cards && *cards; cards++) {
		autoclose int dir = inv_find_pgpu(reader->inv, *cards) != UNKNOWN ? -1
										  : inv_open_card(reader->host, *cards);

		if (dir >= 0)
			read_card(reader, *cards, dir, before);
	}
	inv_sort_parents(reader->inv);
	return r;
}
