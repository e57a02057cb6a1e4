/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The lines of Nova's [pci] for the VFs of the pool.
 *
 * Nova counts each VF that it is given as one device. A card can have more VFs than capacity for its type, so it is
 * given as many as the type has capacity for.
 */
#include <string.h>

#include "cli/export.h"
#include "plan/capacity.h"

/* The VFs of a card that Nova gets: each is one device of the alias that the type's name is. */
struct vfs {
	const struct section *section;
	const struct inv_pgpu *card;
	struct inv_pgpu vf; /* vendor and device of its VFs */
	int n;              /* for so many there is capacity */
};

/* Has the card VFs of this type? One that can have several is exported with the first. */
static bool find_vfs(struct vfs *vfs, const struct export *export, const struct inv_pgpu *card,
		     const struct section *section)
{
	const struct world *world = export->world;
	const struct inv_offer *offer = inventory_offer(card, section->type);
	struct capacity_count count;
	int p = 0;

	if (card->framework == FW_MDEV || !card->pool.in_pool || !offer)
		return false;
	while (p < card->nparents && pool_section_of(card->parents[p]) != section)
		p++;
	if (p == card->nparents)
		return false;
	capacity_count(&count, world, card, offer);
	*vfs = (struct vfs){ .section = section, .card = card, .n = count.capacity };
	return inventory_read_card(world->host, card->parents[p]->name, &vfs->vf);
}

/* A class of the operator's own is one of Placement's; VGPU is that of mdevs. */
static void print_class(FILE *to, const struct section *section)
{
	if (strncmp(section->class, "CUSTOM_", 7) == 0)
		fprintf(to, ", \"resource_class\": \"%s\"", section->class);
}

static void print_vfs(FILE *to, const struct vfs *vfs)
{
	int n = 0;

	fprintf(to, "# %s: %s, at most %d of %d VFs\n", vfs->card->address, vfs->section->type, vfs->n,
		vfs->card->nparents);
	for (int i = 0; i < vfs->card->nparents && n < vfs->n; i++) {
		if (pool_section_of(vfs->card->parents[i]) != vfs->section)
			continue;
		fprintf(to, "device_spec = {\"address\": \"%s\"", vfs->card->parents[i]->name);
		/* The hook sets the type of a variant VF, which libvirt must not bind to another driver. */
		if (vfs->card->framework == FW_VARIANT)
			fputs(", \"managed\": \"no\", \"live_migratable\": \"yes\"", to);
		print_class(to, vfs->section);
		fputs("}\n", to);
		n++;
	}
}

static void print_alias(FILE *to, const struct vfs *vfs)
{
	fprintf(to,
		"alias = {\"name\": \"%s\", \"vendor_id\": \"%s\", \"product_id\": \"%s\", \"device_type\": \"type-VF\"",
		vfs->section->type, vfs->vf.vendor, vfs->vf.device);
	if (vfs->card->framework == FW_VARIANT)
		fputs(", \"live_migratable\": \"yes\"", to);
	print_class(to, vfs->section);
	fputs("}\n", to);
}

/* Has an earlier card this alias: the same type of the same model? */
static bool is_told(const struct export *export, const struct vfs *vfs, size_t pgpu)
{
	struct vfs earlier;

	for (size_t g = 0; g < pgpu; g++)
		if (find_vfs(&earlier, export, export->world->inv.pgpus[g], vfs->section) &&
		    strcmp(earlier.vf.vendor, vfs->vf.vendor) == 0 && strcmp(earlier.vf.device, vfs->vf.device) == 0)
			return true;
	return false;
}

void export_pci(FILE *to, const struct export *export)
{
	const struct config *config = export->world->config;
	const struct inventory *inv = &export->world->inv;
	struct vfs vfs;

	fputs("# Written by 'vgpu-lease export nova-pci', for Nova 2025.1 and later. nova-api and the scheduler need the\n"
	      "# alias as well. A flavor requests a VF with the property pci_passthrough:alias=NAME:1.\n"
	      "[pci]\n",
	      to);
	for (size_t g = 0; g < inv->npgpus; g++)
		for (size_t i = 0; i < config->nsections; i++)
			if (find_vfs(&vfs, export, inv->pgpus[g], &config->sections[i]))
				print_vfs(to, &vfs);
	for (size_t g = 0; g < inv->npgpus; g++)
		for (size_t i = 0; i < config->nsections; i++)
			if (find_vfs(&vfs, export, inv->pgpus[g], &config->sections[i]) && !is_told(export, &vfs, g))
				print_alias(to, &vfs);
}
