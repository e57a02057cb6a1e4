/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Counts vGPUs as nova-compute does. */
#include "decide/nova_inventory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"

static const struct section *section_of(const struct config *config, const char *parent)
{
	const struct section *rest = NULL;

	for (EACH(const struct section *, s, config->sections, config->nsections)) {
		if (!s->nova || s->vf)
			continue;
		if (pool_section_names(s, parent))
			return s;
		if (!rest && config_takes_rest(s))
			rest = s;
	}
	return rest;
}

static void name_device(char out[NOVA_DEVICE_SIZE], const char *parent, bool pci)
{
	if (!pci) {
		snprintf(out, NOVA_DEVICE_SIZE, "%s_%s", parent, parent);
		return;
	}
	snprintf(out, NOVA_DEVICE_SIZE, "pci_%s", parent);
	for (char *c = out; *c; c++)
		if (*c == ':' || *c == '.')
			*c = '_';
}

static int count_existing(const struct inventory *inv, const struct inv_parent *parent, const char *type)
{
	int n = 0;

	for (size_t i = 0; i < inv->ndevices; i++)
		n += inv->devices[i].parent == parent && strcmp(inv->devices[i].vgpu.type, type) == 0;
	return n;
}

static bool is_of(const struct nova_provider *p, const struct definition *d)
{
	return strcmp(d->parent, p->parent->name) == 0 && strcmp(d->type, p->section->type) == 0;
}

bool nova_inventory_counts(const struct nova_inventory *nova, const struct definition *definition)
{
	for (size_t i = 0; i < nova->n; i++)
		if (is_of(&nova->providers[i], definition))
			return true;
	return false;
}

/* For libvirt, and so for Nova, one UUID under two parents counts as two devices. */
static void count_defined(struct nova_provider *p, const struct inventory *inv, const struct definition *list, size_t n)
{
	for (EACH(const struct definition *, d, list, n)) {
		const struct inv_device *device = inventory_device(inv, d->uuid);
		bool twice;

		if (!is_of(p, d) || (device && device->parent == p->parent))
			continue;
		p->defined++;
		twice = device;
		for (EACH(const struct definition *, other, list, n))
			twice |= strcmp(other->uuid, d->uuid) == 0 && strcmp(other->parent, d->parent) != 0;
		if (twice && !*p->twice)
			text_copy(p->twice, sizeof(p->twice), d->uuid);
	}
}

/* What remains of max_instances after existing and defined vGPUs, and after the offers of providers before `next`. */
static int left(const struct nova_inventory *nova, size_t next)
{
	const struct section *section = nova->providers[next].section;
	int n = section->max_instances;

	for (size_t i = 0; i < nova->n; i++) {
		const struct nova_provider *p = &nova->providers[i];

		if (p->section == section)
			n -= p->existing + p->defined + (i < next && !p->limited ? p->available : 0);
	}
	return n;
}

void nova_inventory_make(struct nova_inventory *nova, const struct inventory *inv, const struct definition *definitions,
			 size_t ndefinitions)
{
	*nova = (struct nova_inventory){ .providers = mem_new(inv->nparents + 1, sizeof(*nova->providers)) };
	for (size_t i = 0; i < inv->nparents; i++) {
		const struct inv_parent *parent = inv->parents[i];
		const struct inv_pgpu *card = parent->card;
		const struct section *section = section_of(inv->config, parent->name);
		const struct inv_offer *offer = section ? inventory_offer(card, section->type) : NULL;
		struct nova_provider *p = &nova->providers[nova->n];

		if (card->framework != FW_MDEV || !section || (!offer && !card->silent))
			continue;
		*p = (struct nova_provider){ .section = section, .parent = parent };
		name_device(p->device, parent->name, *card->vendor);
		p->existing = count_existing(inv, parent, section->type);
		count_defined(p, inv, definitions, ndefinitions);
		/* On an SR-IOV card, the offer is that of a free VF. A VF in use offers nothing. */
		p->available = !offer || (card->sriov && (parent->ndevices || parent->lost)) ? 0 : offer->available;
		/* A silent card may not have the type. Count it only with a vGPU or a definition of the type. */
		nova->n += offer || p->existing || p->defined;
	}
	for (size_t i = 0; i < nova->n; i++) {
		struct nova_provider *p = &nova->providers[i];

		p->limited = p->section->max_instances > 0 && p->available > left(nova, i);
		p->total = p->limited ? 0 : p->existing + p->defined + p->available;
	}
}

void nova_inventory_free(struct nova_inventory *nova)
{
	free(nova->providers);
	*nova = (struct nova_inventory){ 0 };
}

/* Converts to upper case, and replaces characters that Placement does not accept with '_'. */
static void spell(char trait[TRAIT_SIZE])
{
	for (char *c = trait; *c; c++)
		if (*c >= 'a' && *c <= 'z')
			*c = (char)(*c - 'a' + 'A');
		else if (!((*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9')))
			*c = '_';
}

void nova_type_trait(char trait[TRAIT_SIZE], const char *type)
{
	snprintf(trait, TRAIT_SIZE, "CUSTOM_%s", type);
	spell(trait);
}

void nova_traits(char traits[NOVA_TRAITS][TRAIT_SIZE], const struct nova_provider *provider)
{
	const struct inv_pgpu *card = provider->parent->card;
	const struct inv_offer *offer = inventory_offer(card, provider->section->type);
	int mib = offer ? offer->type->framebuffer_mib : UNKNOWN;

	memset(traits, 0, NOVA_TRAITS * sizeof(*traits));
	nova_type_trait(traits[0], provider->section->type);
	if (*card->vendor)
		snprintf(traits[1], TRAIT_SIZE, "CUSTOM_PGPU_%s_%s", card->vendor, card->device);
	if (mib > 0)
		snprintf(traits[2], TRAIT_SIZE, "CUSTOM_VGPU_%d_MIB", mib);
	snprintf(traits[3], TRAIT_SIZE, "CUSTOM_VGPU_%s", framework_words[card->framework]);
	for (int i = 1; i < NOVA_TRAITS; i++)
		spell(traits[i]);
}
