/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The pool: which pGPU serves which type, and why one does not. */
#include "plan/pool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
/*
 * libvirt's node device driver, and so Nova, call the parent mtty "mtty_mtty": the driver's name before the device's.
 */
bool pool_address_is(const char *address, const char *name)
{
	size_t n = strlen(name);

	if (strcmp(address, name) == 0)
		return true;
	return strlen(address) == 2 * n + 1 && strncmp(address, name, n) == 0 && address[n] == '_' &&
	       strcmp(address + n + 1, name) == 0;
}

/* How a section names a card: not at all, as a whole, or some of its VFs. */
enum naming { NOT_NAMED, NAMED_VFS, NAMED_WHOLE };

static enum naming names_card(const struct section *s, const struct inv_pgpu *card, const struct inv_parent *parents,
			      size_t nparents)
{
	enum naming how = NOT_NAMED;

	for (size_t i = 0; i < s->naddresses; i++) {
		if (pool_address_is(s->addresses[i], card->address))
			return NAMED_WHOLE;
		for (size_t p = 0; p < nparents; p++)
			if (strcmp(s->addresses[i], parents[p].name) == 0)
				how = NAMED_VFS;
	}
	return how;
}

bool pool_match(const struct match *m, const struct inv_pgpu *card)
{
	return (!*m->vendor || strcmp(m->vendor, card->vendor) == 0) &&
	       (!*m->device || strcmp(m->device, card->device) == 0) && (m->numa < 0 || m->numa == card->numa);
}

static bool matches_card(const struct section *s, const struct inv_pgpu *card)
{
	for (size_t i = 0; i < s->nmatches; i++)
		if (pool_match(&s->matches[i], card))
			return true;
	return false;
}

bool pool_names(const struct config *config, const struct inv_pgpu *card, const char *vf)
{
	struct inv_parent parent = { .pgpu = UNKNOWN };

	snprintf(parent.name, sizeof(parent.name), "%s", vf);
	for (size_t i = 0; i < config->nsections; i++) {
		const struct section *s = &config->sections[i];

		if (names_card(s, card, &parent, 1) != NOT_NAMED || matches_card(s, card))
			return true;
	}
	return false;
}

const char *pool_vf_name(const void *config, const struct inv_pgpu *card, const struct inv_parent *vfs, size_t nvfs)
{
	const struct config *c = config;

	for (size_t i = 0; i < c->nsections; i++)
		if (c->sections[i].vf &&
		    (names_card(&c->sections[i], card, vfs, nvfs) != NOT_NAMED || matches_card(&c->sections[i], card)))
			return c->sections[i].type;
	return NULL;
}

const char *pool_names_type(const void *config, const struct inv_pgpu *card, const struct inv_parent *vfs, size_t nvfs,
			    size_t i)
{
	const struct config *c = config;

	for (size_t s = 0; s < c->nsections; s++) {
		const struct section *section = &c->sections[s];

		if (!section->vf &&
		    (names_card(section, card, vfs, nvfs) != NOT_NAMED || matches_card(section, card)) && i-- == 0)
			return section->type;
	}
	return NULL;
}

static enum claim claim_of(const struct pool *pool, const struct section *s, const struct inv_pgpu *card)
{
	enum naming how;

	if (s->vf != (card->framework == FW_VF))
		return CLAIM_NONE;
	how = names_card(s, card, pool->inv->parents + card->first, (size_t)card->nparents);
	if (how != NOT_NAMED)
		return how == NAMED_WHOLE ? CLAIM_ADDRESS : CLAIM_VFS;
	if (matches_card(s, card))
		return CLAIM_MATCH;
	return config_takes_rest(s) ? CLAIM_DEFAULT : CLAIM_NONE;
}

/* Of equal rank: by the card's own address, or by those of its VFs. */
static enum claim rank(enum claim claim)
{
	return claim == CLAIM_VFS ? CLAIM_ADDRESS : claim;
}

/* The highest rank of a claim on this card. */
static enum claim best_claim(const struct pool *pool, const struct inv_pgpu *card)
{
	enum claim best = CLAIM_NONE;

	for (size_t i = 0; i < pool->config->nsections; i++) {
		enum claim claim = rank(claim_of(pool, &pool->config->sections[i], card));

		if (claim > best)
			best = claim;
	}
	return best;
}

/*
 * Fills in what a card serves. With one type, two that name it are in each other's way, and of those that name no card
 * the first counts; with several, the first that the card offers stands for all.
 */
static void claim_card(const struct pool *pool, const struct inv_pgpu *card, int index, struct pool_card *out)
{
	bool several = pool->config->policy.several_types;

	out->claim = best_claim(pool, card);
	for (size_t i = 0; out->claim != CLAIM_NONE && i < pool->config->nsections; i++) {
		const struct section *s = &pool->config->sections[i];
		enum claim claim = claim_of(pool, s, card);

		if (rank(claim) != out->claim)
			continue;
		if (!out->section) {
			out->section = s;
			out->limited = claim == CLAIM_VFS;
		} else if (several) {
			out->limited = out->limited && claim == CLAIM_VFS;
			if (!inventory_offer(pool->inv, index, out->section->type))
				out->section = s;
		} else if (out->claim != CLAIM_DEFAULT) {
			out->contested = true;
			snprintf(out->reason, sizeof(out->reason), "configured for both %s and %s: choose one",
				 out->section->type, s->type);
			out->section = NULL;
			return;
		}
	}
}

static void place_card(const struct pool *pool, const struct inv_pgpu *card, int index, struct pool_card *out)
{
	bool offered;

	claim_card(pool, card, index, out);
	if (out->contested)
		return;
	offered = out->section && inventory_offer(pool->inv, index, out->section->type);
	if (out->claim == CLAIM_DEFAULT && !offered && card->types_hid && !card->silent) {
		snprintf(
			out->reason, sizeof(out->reason),
			"cannot tell whether it supports %s while it holds other vGPUs: if it does, name it in [mdev_%s]",
			out->section->type, out->section->type);
		out->section = NULL;
		return;
	}
	if (!out->section) {
		snprintf(out->reason, sizeof(out->reason), "not named in the configuration");
		return;
	}
	if (out->claim == CLAIM_DEFAULT && !offered && !card->silent) {
		snprintf(out->reason, sizeof(out->reason),
			 pool->config->policy.several_types ? "supports no enabled type" : "does not support %s",
			 out->section->type);
		out->section = NULL;
		return;
	}
	if (!card->ready)
		snprintf(out->reason, sizeof(out->reason), "%s", card->reason);
	else if (!offered)
		snprintf(out->reason, sizeof(out->reason),
			 card->framework == FW_VARIANT && !card->types_whole
				 ? "does not list %s although it is empty: the card may be in MIG mode"
				 : "does not support %s",
			 out->section->type);
	else
		out->in_pool = true;
}

void pool_make(struct pool *pool, const struct config *config, const struct inventory *inv)
{
	*pool = (struct pool){ .config = config, .inv = inv };
	pool->cards = mem_new(inv->npgpus + 1, sizeof(*pool->cards));
	for (size_t i = 0; i < inv->npgpus; i++)
		place_card(pool, &inv->pgpus[i], (int)i, &pool->cards[i]);
}

void pool_free(struct pool *pool)
{
	free(pool->cards);
	pool->cards = NULL;
}

/*
 * Of several types: does the card offer others, and not this one? While it is not known what it offers, it serves all
 * that it is named or matched for, and so it does if it offers none of them. (Of a card in use the inventory supposes
 * the offers: see names_type.)
 */
static bool is_not_offered(const struct pool *pool, int pgpu, const char *type)
{
	const struct pool_card *card = &pool->cards[pgpu];

	if (pool->inv->pgpus[pgpu].silent || inventory_offer(pool->inv, pgpu, type))
		return false;
	return card->claim == CLAIM_DEFAULT || inventory_offer(pool->inv, pgpu, card->section->type);
}

const struct section *pool_serves(const struct pool *pool, int pgpu, const char *type)
{
	const struct pool_card *card = &pool->cards[pgpu];
	const struct section *s = card->section;

	if (!pool->config->policy.several_types)
		return s && strcmp(s->type, type) == 0 ? s : NULL;
	s = config_section(pool->config, type);
	if (!s || card->claim == CLAIM_NONE || rank(claim_of(pool, s, &pool->inv->pgpus[pgpu])) != card->claim ||
	    is_not_offered(pool, pgpu, type))
		return NULL;
	return s;
}

enum stock pool_stock(const struct pool *pool, const struct section *section, bool mdev, int pgpu)
{
	enum stock stock = STOCK_NONE;

	for (int g = 0; g < (int)pool->inv->npgpus && stock != STOCK_READY; g++) {
		if ((pgpu != UNKNOWN && g != pgpu) || (pool->inv->pgpus[g].framework == FW_MDEV) != mdev ||
		    pool_serves(pool, g, section->type) != section)
			continue;
		stock = pool->cards[g].in_pool ? STOCK_READY : STOCK_UNREADY;
	}
	return stock;
}

static enum stock best_stock(const struct pool *pool, bool mdev, int pgpu)
{
	const struct section *sections = pool->config->sections;
	enum stock best = STOCK_NONE;

	for (size_t i = 0; sections && i < pool->config->nsections; i++) {
		const struct section *s = &sections[i];
		enum stock stock = pool_stock(pool, s, mdev, pgpu);

		if (stock > best)
			best = stock;
	}
	return best;
}

bool pool_has_type(const struct pool *pool, const struct section *section, bool mdev, int pgpu)
{
	enum stock best = best_stock(pool, mdev, pgpu);

	if (best == STOCK_NONE)
		return mdev && pgpu == UNKNOWN && !section->vf;
	return pool_stock(pool, section, mdev, pgpu) == best;
}

size_t pool_types(const struct pool *pool, bool mdev, int pgpu, const struct section **first)
{
	const struct section *sections = pool->config->sections;
	size_t n = 0;

	*first = NULL;
	for (size_t i = 0; sections && i < pool->config->nsections; i++) {
		const struct section *s = &sections[i];

		if (pool_has_type(pool, s, mdev, pgpu) && n++ == 0)
			*first = s;
	}
	return n;
}

bool pool_section_names(const struct section *s, const char *name)
{
	for (size_t i = 0; i < s->naddresses; i++)
		if (pool_address_is(s->addresses[i], name))
			return true;
	return false;
}

bool pool_has_parent(const struct pool *pool, int parent)
{
	const struct inv_parent *p = &pool->inv->parents[parent];
	const struct pool_card *card = &pool->cards[p->pgpu];

	if (!card->in_pool || !card->limited)
		return card->in_pool;
	if (!pool->config->policy.several_types)
		return pool_section_names(card->section, p->name);
	for (size_t i = 0; i < pool->config->nsections; i++)
		if (claim_of(pool, &pool->config->sections[i], &pool->inv->pgpus[p->pgpu]) == CLAIM_VFS &&
		    pool_section_names(&pool->config->sections[i], p->name))
			return true;
	return false;
}

bool pool_misses(const struct pool *pool, const struct section *section, const char *address)
{
	const struct inventory *inv = pool->inv;

	for (size_t i = 0; i < inv->npgpus; i++)
		if (section->vf == (inv->pgpus[i].framework == FW_VF) &&
		    pool_address_is(address, inv->pgpus[i].address))
			return false;
	for (size_t i = 0; i < inv->nparents; i++)
		if (section->vf == (inv->pgpus[inv->parents[i].pgpu].framework == FW_VF) &&
		    pool_address_is(address, inv->parents[i].name))
			return false;
	return true;
}
