/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Finds configured cards that provide no vGPUs on this host. */
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/text.h"
#include "look/inventory.h"
#include "internal.h"
#include "state/history.h"

struct found {
	struct missing_card *list;
	size_t n;
	const struct host *host;
	const struct inventory *inv;
};

/* Why the card (NULL: not in the inventory) provides nothing for the section, as the inventory has it; "": unknown. */
static const char *reason_of(const struct section *section, const struct inv_pgpu *card)
{
	if (!card)
		return "";
	if (!card->ready)
		return card->reason;
	return section->vf && card->framework != FW_VF ? INV_NEEDS_TYPE : card->pool.reason;
}

static void add_missing(struct found *found, enum missing_how how, const struct section *section,
			const struct location *at, const char *address)
{
	struct missing_card *missing = mem_add(&found->list, &found->n, sizeof(*missing));
	const struct inv_parent *vf = inventory_parent(found->inv, address);
	const struct inv_pgpu *card = vf ? vf->card : inventory_pgpu(found->inv, address);
	const char *reason = reason_of(section, card);

	missing->how = how;
	missing->section = section;
	if (at)
		missing->at = *at;
	inventory_read_card(found->host, address, &missing->card);
	text_copy(missing->card.address, sizeof(missing->card.address), address);
	missing->card.framework = section->vf ? FW_VF : FW_MDEV;
	/* A reason of the inventory is more precise. */
	if (*reason)
		text_copy(missing->card.reason, sizeof(missing->card.reason), reason);
	else
		inventory_explain_card(found->host, address, section->vf, missing->card.reason);
}

static void add_named(struct found *found, const struct section *section)
{
	for (size_t i = 0; i < section->naddresses; i++)
		if (pool_misses(found->inv, section, section->addresses[i].text))
			add_missing(found, MISSING_NAMED, section, &section->addresses[i].at,
				    section->addresses[i].text);
}

static bool provides_nothing(const struct found *found, const char *address)
{
	const struct inv_pgpu *card = inventory_pgpu(found->inv, address);

	return !card || !card->ready;
}

/* Is the device a GPU of a vendor that can have this type? */
static bool is_gpu_for(const struct inv_pgpu *device, const char *type)
{
	const char *vendor = device->vendor;

	if (!device->gpu)
		return false;
	if (strncmp(type, "nvidia-", strlen("nvidia-")) == 0)
		return device->nvidia;
	if (strncmp(type, "i915-", strlen("i915-")) == 0)
		return strcmp(vendor, "8086") == 0;
	return device->nvidia || strcmp(vendor, "8086") == 0 || strcmp(vendor, "1002") == 0;
}

static void add_matched(struct found *found, const struct section *section)
{
	for (size_t d = 0; d < found->inv->npci; d++) {
		const struct inv_pgpu *device = found->inv->pci[d];

		for (EACH(const struct match *, match, section->matches, section->nmatches)) {
			/* A match without a device ID selects only GPUs that can have the type. */
			if (!pool_match(match, device) || !(*match->device || is_gpu_for(device, section->type)) ||
			    inventory_pgpu(found->inv, device->address) || pool_section_names(section, device->address))
				continue;
			add_missing(found, MISSING_MATCHED, section, &match->at, device->address);
			break;
		}
	}
}

/* Adds missing parents of earlier vGPUs of the type, such as a virtual parent whose driver is not loaded. */
static void add_remembered(struct found *found, const struct section *section)
{
	autofree char(*parents)[PARENT_SIZE] = NULL;
	size_t n = affinity_parents(found->host, section->type, &parents);

	for (size_t i = 0; i < n; i++) {
		struct inv_pgpu card;
		const char *address = inventory_vf_card(found->host, parents[i], &card) ? card.address : parents[i];
		bool known = !provides_nothing(found, address);

		for (size_t k = 0; k < found->n && !known; k++)
			known = strcmp(found->list[k].card.address, address) == 0;
		if (!known)
			add_missing(found, MISSING_REMEMBERED, section, NULL, address);
	}
}

static void add_idle(struct found *found, const struct section *section)
{
	if (!config_takes_rest(section))
		return;
	for (size_t g = 0; g < found->inv->npgpus; g++)
		if (pool_serves(found->inv->pgpus[g], section->type))
			return;
	for (size_t d = 0; d < found->inv->npci; d++) {
		const struct inv_pgpu *device = found->inv->pci[d];

		if (is_gpu_for(device, section->type) && provides_nothing(found, device->address) &&
		    !pool_names(found->inv->config, device, ""))
			add_missing(found, MISSING_IDLE, section, NULL, device->address);
	}
	add_remembered(found, section);
}

size_t missing_cards(struct missing_card **out, const struct host *host, const struct inventory *inv)
{
	struct found found = { .host = host, .inv = inv };

	for (EACH(const struct section *, section, inv->config->sections, inv->config->nsections)) {
		add_named(&found, section);
		add_matched(&found, section);
		add_idle(&found, section);
	}
	*out = found.list;
	return found.n;
}
