/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Applies the configuration to the cards of the inventory. */
#include "look/pool.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "internal.h"

/* [vf_NAME] sections are for cards with plain VFs, all other sections for all other cards. */
static bool is_for(const struct section *s, const struct inv_pgpu *card)
{
	return s->vf == (card->framework == FW_VF);
}

bool pool_section_names(const struct section *s, const char *name)
{
	for (size_t i = 0; i < s->naddresses; i++)
		if (strcmp(s->addresses[i].text, name) == 0)
			return true;
	return false;
}

const struct location *pool_means(const struct section *s, const struct inv_pgpu *card)
{
	const struct match *match = pool_matches(s, card);

	for (EACH(const struct item *, address, s->addresses, s->naddresses)) {
		if (strcmp(address->text, card->address) == 0)
			return &address->at;
		for (int p = 0; p < card->nparents; p++)
			if (strcmp(address->text, card->parents[p]->name) == 0)
				return &address->at;
	}
	return match ? &match->at : NULL;
}

bool pool_match(const struct match *m, const struct inv_pgpu *card)
{
	return (!*m->vendor || strcmp(m->vendor, card->vendor) == 0) &&
	       (!*m->device || strcmp(m->device, card->device) == 0) &&
	       (!*m->subdevice || (*card->subsystem && strcmp(m->subdevice, card->subsystem + 5) == 0)) &&
	       (m->numa < 0 || m->numa == card->numa);
}

const struct match *pool_matches(const struct section *s, const struct inv_pgpu *card)
{
	/* In [vf_NAME], a match without a device ID selects only GPUs. Network cards also have plain VFs. */
	for (size_t i = 0; i < s->nmatches; i++)
		if (pool_match(&s->matches[i], card) && !(s->vf && !card->gpu && !*s->matches[i].device))
			return &s->matches[i];
	return NULL;
}

bool pool_is_elsewhere(const struct section *s, const struct inv_pgpu *card, char why[REASON_SIZE])
{
	for (EACH(const struct match *, match, s->matches, s->nmatches)) {
		struct inv_pgpu there = *card;

		there.numa = match->numa;
		if (pool_match(match, card) || !pool_match(match, &there))
			continue;
		if (card->numa == UNKNOWN)
			snprintf(
				why, REASON_SIZE,
				"device_match of %s requires NUMA node %d, but the kernel reports none for it; remove numa=%d",
				s->type, match->numa, match->numa);
		else
			snprintf(why, REASON_SIZE,
				 "device_match of %s requires NUMA node %d, but it is on node %d; correct numa=%d",
				 s->type, match->numa, card->numa, match->numa);
		return true;
	}
	return false;
}

const struct section *pool_names(const struct config *config, const struct inv_pgpu *card, const char *vf)
{
	for (EACH(const struct section *, s, config->sections, config->nsections))
		if (pool_section_names(s, card->address) || pool_section_names(s, vf) || pool_matches(s, card))
			return s;
	return NULL;
}

bool pool_enables_nvidia(const struct config *config, bool rest)
{
	for (size_t i = 0; i < config->nsections; i++)
		if (strncmp(config->sections[i].type, "nvidia-", 7) == 0 &&
		    (!rest || config_takes_rest(&config->sections[i])))
			return true;
	return false;
}

static enum claim claim_of(const struct section *s, const struct inv_pgpu *card)
{
	if (!is_for(s, card))
		return CLAIM_NONE;
	if (pool_section_names(s, card->address))
		return CLAIM_ADDRESS;
	if (pool_matches(s, card))
		return CLAIM_MATCH;
	return config_takes_rest(s) ? CLAIM_DEFAULT : CLAIM_NONE;
}

/* Does the section name this VF? With pgpu_types = several, several sections can name it. */
static bool names_vf(const struct section *s, const struct inv_parent *parent)
{
	const struct section *named = parent->named;
	bool several = parent->card->pool.config->policy.several_types;

	return named && (s == named || (several && s->vf == named->vf && pool_section_names(s, parent->name)));
}

static bool names_vfs(const struct section *s, const struct inv_pgpu *card)
{
	for (int p = 0; p < card->nparents; p++)
		if (names_vf(s, card->parents[p]))
			return true;
	return false;
}

static const struct section *offered_or(const struct inv_pgpu *card, const struct section *a, const struct section *b)
{
	return a && inventory_offer(card, a->type) ? a : b;
}

/*
 * Sets the card's claim, and its sections, or explains why it has none although it is claimed. The section of the whole
 * card is one of those with the highest claim, preferably one whose type the card offers. With one type per card, the
 * first default section wins, but two sections that name or match the card conflict, except if both match it and the
 * card offers the type of only one. A card whose VFs are named has no default section, but can have that of the VFs.
 */
static void claim_card(struct inv_pgpu *card)
{
	struct pool_card *pool = &card->pool;
	const struct config *config = pool->config;
	const struct section *first = NULL, *second = NULL, *of_vfs = NULL;
	int noffered = 0;

	for (EACH(const struct section *, s, config->sections, config->nsections)) {
		enum claim claim = claim_of(s, card);

		pool->claim = claim > pool->claim ? claim : pool->claim;
		if (names_vfs(s, card))
			of_vfs = offered_or(card, of_vfs, s);
	}
	if (of_vfs && pool->claim == CLAIM_DEFAULT)
		pool->claim = CLAIM_NONE;
	for (EACH(const struct section *, s, config->sections, config->nsections)) {
		if (pool->claim == CLAIM_NONE || claim_of(s, card) != pool->claim)
			continue;
		noffered += inventory_offer(card, s->type) != NULL;
		if (first && !second)
			second = s;
		first = first ? first : s;
		pool->whole = offered_or(card, pool->whole, s);
		if (pool->claim == CLAIM_DEFAULT && !config->policy.several_types)
			break;
	}
	if (second && !config->policy.several_types && !(pool->claim == CLAIM_MATCH && noffered == 1)) {
		text_add(pool->reason, REASON_SIZE, "configured for both %s and %s; choose one", first->type,
			 second->type);
		pool->whole = NULL;
		return;
	}
	pool->section = of_vfs ? offered_or(card, pool->whole, of_vfs) : pool->whole;
}

bool pool_moved(const struct section *s, const struct inv_pgpu *card, char reason[REASON_SIZE])
{
	if (!*card->moved || !s->vf || !pool_section_names(s, card->moved) || pool_matches(s, card))
		return false;
	snprintf(reason, REASON_SIZE,
		 "%s is %s now, and was %s when [vf_%.40s] first used it; correct device_addresses", card->moved,
		 card->moved_is, card->moved_was, s->type);
	if (card->gpu)
		text_add(reason, REASON_SIZE, ", or accept it with 'vgpu-lease retype %s %.40s'", card->moved, s->type);
	return true;
}

static void explain_unnamed(struct inv_pgpu *card)
{
	const struct config *config = card->pool.config;

	for (EACH(const struct section *, s, config->sections, config->nsections)) {
		if (is_for(s, card) && pool_is_elsewhere(s, card, card->pool.reason))
			return;
		if (s->vf && card->framework != FW_VF && pool_means(s, card)) {
			text_copy(card->pool.reason, REASON_SIZE, INV_NEEDS_TYPE);
			return;
		}
	}
	text_copy(card->pool.reason, REASON_SIZE, "not named in the configuration");
}

static void settle_card(struct inv_pgpu *card)
{
	struct pool_card *pool = &card->pool;
	const struct config *config = pool->config;
	bool offered, by_default;
	const char *type;

	claim_card(card);
	if (!pool->section && !*pool->reason)
		explain_unnamed(card);
	if (!pool->section)
		return;
	type = pool->section->type;
	offered = inventory_offer(card, type);
	by_default = !offered && pool->claim == CLAIM_DEFAULT && !card->silent;
	if (by_default)
		pool->section = NULL;
	for (EACH(const struct section *, s, config->sections, config->nsections))
		if (!by_default && pool_moved(s, card, pool->reason))
			return;
	if (!card->ready)
		text_copy(pool->reason, REASON_SIZE, card->reason);
	else if (offered)
		pool->in_pool = true;
	else if (by_default && card->types_hid)
		text_add(
			pool->reason, REASON_SIZE,
			"cannot tell whether it supports %s while it holds other vGPUs; if it does, name it in [mdev_%s]",
			type, type);
	else if (by_default && config->policy.several_types)
		text_add(pool->reason, REASON_SIZE, "supports no enabled type");
	else if (!by_default && card->gone == pool->section)
		text_add(pool->reason, REASON_SIZE,
			 "does not support %s with this driver, but did with %s; 'vgpu-lease types' lists the types",
			 type, card->gone_driver);
	else if (!by_default && card->model && !card->model->types_whole)
		text_add(pool->reason, REASON_SIZE,
			 "does not list %s although it is empty; the card may be in MIG mode", type);
	else
		text_add(pool->reason, REASON_SIZE, "does not support %s", type);
}

static void name_vfs(const struct inventory *inv)
{
	const struct config *config = inv->config;

	for (EACH(const struct section *, s, config->sections, config->nsections))
		for (size_t a = 0; a < s->naddresses; a++) {
			struct inv_parent *vf = inventory_parent(inv, s->addresses[a].text);

			if (vf && vf->card->sriov && is_for(s, vf->card) && !vf->named)
				vf->named = s;
		}
}

void pool_make(struct inventory *inv, const struct config *config)
{
	inv->config = config;
	name_vfs(inv);
	for (size_t i = 0; i < inv->npgpus; i++) {
		inv->pgpus[i]->pool.config = config;
		settle_card(inv->pgpus[i]);
	}
}

/* Does the section apply to the card itself and to those of its VFs that no section names? */
static bool is_of_whole(const struct inv_pgpu *card, const struct section *s)
{
	if (!card->pool.config->policy.several_types)
		return s == card->pool.whole;
	return card->pool.whole && claim_of(s, card) == card->pool.claim;
}

/*
 * True if the card does not offer this type but offers its section's type. With CLAIM_DEFAULT, the section's type does
 * not matter. False for a silent card, whose offers are not known.
 */
static bool is_not_offered(const struct inv_pgpu *card, const char *type)
{
	if (card->silent || inventory_offer(card, type))
		return false;
	return card->pool.claim == CLAIM_DEFAULT || inventory_offer(card, card->pool.section->type);
}

const struct section *pool_serves(const struct inv_pgpu *card, const char *type)
{
	const struct section *s = card->pool.section ? config_section(card->pool.config, type) : NULL;

	if (!s || !(is_of_whole(card, s) || names_vfs(s, card)))
		return NULL;
	return s == card->pool.section || !is_not_offered(card, type) ? s : NULL;
}

bool pool_serves_more(const struct inv_pgpu *card)
{
	const struct config *config = card->pool.config;
	size_t n = 0;

	for (size_t i = 0; i < config->nsections; i++)
		n += pool_serves(card, config->sections[i].type) != NULL;
	return n > 1 || config->policy.several_types;
}

bool pool_gives(const struct inv_parent *parent, const char *type)
{
	const struct section *s = pool_serves(parent->card, type);

	return s && (parent->named ? names_vf(s, parent) : is_of_whole(parent->card, s));
}

const struct section *pool_section_of(const struct inv_parent *parent)
{
	return parent->named ? parent->named : parent->card->pool.whole;
}

bool pool_has_parent(const struct inv_parent *parent)
{
	return parent->card->pool.in_pool && pool_section_of(parent);
}

enum stock pool_stock(const struct inventory *inv, const struct section *section, bool mdev,
		      const struct inv_parent *parent)
{
	enum stock stock = STOCK_NONE;

	for (size_t g = 0; g < inv->npgpus && stock != STOCK_READY; g++) {
		const struct inv_pgpu *card = inv->pgpus[g];

		if ((card->framework == FW_MDEV) == mdev &&
		    (parent ? card == parent->card && pool_gives(parent, section->type)
			    : pool_serves(card, section->type) != NULL))
			stock = card->pool.in_pool ? STOCK_READY : STOCK_UNREADY;
	}
	return stock;
}

const struct section **pool_types(const struct inventory *inv, bool mdev, const struct inv_parent *parent)
{
	const struct config *config = inv->config;
	const struct section **list = mem_new(config->nsections + 1, sizeof(*list));
	enum stock best = STOCK_NONE;
	size_t n = 0;

	for (EACH(const struct section *, s, config->sections, config->nsections)) {
		enum stock stock = pool_stock(inv, s, mdev, parent);

		if (stock > best) {
			best = stock;
			n = 0;
		}
		if (stock == best && (best != STOCK_NONE || (mdev && !parent && !s->vf)))
			list[n++] = s;
	}
	list[n] = NULL;
	return list;
}
