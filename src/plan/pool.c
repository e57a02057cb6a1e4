/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The pool: which pGPU serves which type, and why one does not. */
#include "plan/pool.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

/* Plain VFs are given out by sections of their own. */
static bool is_for(const struct section *s, const struct inv_pgpu *card)
{
	return s->vf == (card->framework == FW_VF);
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

/* Does the section name this VF by its own address? With several types, another one can as well. */
static bool names_vf(const struct inventory *inv, const struct section *s, const struct inv_parent *parent)
{
	const struct section *named = parent->named;

	return named && (s == named || (inv->config->policy.several_types && s->vf == named->vf &&
					pool_section_names(s, parent->name)));
}

static bool names_vfs(const struct inventory *inv, const struct section *s, const struct inv_pgpu *card)
{
	for (int p = 0; p < card->nparents; p++)
		if (names_vf(inv, s, card->parents[p]))
			return true;
	return false;
}

/* The highest claim on this card. */
static enum claim best_claim(const struct inventory *inv, const struct inv_pgpu *card)
{
	enum claim best = CLAIM_NONE;

	for (size_t i = 0; i < inv->config->nsections; i++) {
		enum claim claim = claim_of(&inv->config->sections[i], card);

		if (claim > best)
			best = claim;
	}
	return best;
}

/* Of two sections the first, if the card offers it. */
static const struct section *offered_or(const struct inv_pgpu *card, const struct section *a, const struct section *b)
{
	return a && inventory_offer(card, a->type) ? a : b;
}

/* Of all types that match the card, does it offer this one alone? */
static bool is_only_offer(const struct inventory *inv, const struct inv_pgpu *card, const struct section *only)
{
	for (size_t i = 0; i < inv->config->nsections; i++) {
		const struct section *s = &inv->config->sections[i];

		if (claim_of(s, card) == CLAIM_MATCH && (s == only) != !!inventory_offer(card, s->type))
			return false;
	}
	return true;
}

/*
 * Fills in what a card serves as a whole. With one type, two that name it are in each other's way, and of those that
 * name no card the first counts; with several, the first that the card offers stands for all.
 */
static void claim_whole(const struct inventory *inv, const struct inv_pgpu *card, struct pool_card *out)
{
	for (size_t i = 0; out->claim != CLAIM_NONE && i < inv->config->nsections; i++) {
		const struct section *s = &inv->config->sections[i];

		if (claim_of(s, card) != out->claim)
			continue;
		if (!out->whole || inv->config->policy.several_types) {
			out->whole = offered_or(card, out->whole, s);
		} else if (out->claim == CLAIM_MATCH && is_only_offer(inv, card, out->whole)) {
			continue;
		} else if (out->claim == CLAIM_MATCH && is_only_offer(inv, card, s)) {
			out->whole = s;
		} else if (out->claim != CLAIM_DEFAULT) {
			out->contested = true;
			snprintf(out->reason, sizeof(out->reason), "configured for both %s and %s; choose one",
				 out->whole->type, s->type);
			out->whole = NULL;
			return;
		}
	}
}

/* What it serves, its VFs that are named for a type of their own included. */
static void claim_card(const struct inventory *inv, const struct inv_pgpu *card, struct pool_card *out)
{
	const struct section *of_vfs = NULL;

	for (size_t i = 0; i < inv->config->nsections; i++)
		if (names_vfs(inv, &inv->config->sections[i], card))
			of_vfs = offered_or(card, of_vfs, &inv->config->sections[i]);
	out->claim = best_claim(inv, card);
	if (of_vfs && out->claim == CLAIM_DEFAULT)
		out->claim = CLAIM_NONE;
	claim_whole(inv, card, out);
	if (!out->contested)
		out->section = of_vfs ? offered_or(card, out->whole, of_vfs) : out->whole;
}

/* Does a section take the card on trust, by an address that was another device? */
static bool explain_moved(const struct inventory *inv, const struct inv_pgpu *card, struct pool_card *out)
{
	for (size_t i = 0; *card->moved && i < inv->config->nsections; i++) {
		const struct section *s = &inv->config->sections[i];

		if (s->vf && pool_section_names(s, card->moved) && !pool_matches(s, card)) {
			text_add(
				out->reason, sizeof(out->reason),
				"%s is %s now, and was %s when [vf_%.40s] first used it; correct device_addresses, or accept it with 'vgpu-lease retype %s %.40s'",
				card->moved, card->moved_is, card->moved_was, s->type, card->moved, s->type);
			return true;
		}
	}
	return false;
}

static void explain_unnamed(const struct inventory *inv, const struct inv_pgpu *card, struct pool_card *out)
{
	for (size_t i = 0; i < inv->config->nsections; i++) {
		const struct section *s = &inv->config->sections[i];
		const struct match *match = pool_matches_elsewhere(s, card);

		if (!match || !is_for(s, card))
			continue;
		text_add(out->reason, sizeof(out->reason), "device_match of %s requires NUMA node %d, but ", s->type,
			 match->numa);
		if (card->numa == UNKNOWN)
			text_add(out->reason, sizeof(out->reason), "the kernel reports none for it; remove numa=%d",
				 match->numa);
		else
			text_add(out->reason, sizeof(out->reason), "it is on node %d", card->numa);
		return;
	}
	snprintf(out->reason, sizeof(out->reason), "not named in the configuration");
}

static void place_card(const struct inventory *inv, struct inv_pgpu *card)
{
	struct pool_card *out = &card->pool;
	bool offered;

	claim_card(inv, card, out);
	if (out->contested)
		return;
	offered = out->section && inventory_offer(card, out->section->type);
	if (out->claim == CLAIM_DEFAULT && !offered && card->types_hid && !card->silent) {
		snprintf(
			out->reason, sizeof(out->reason),
			"cannot tell whether it supports %s while it holds other vGPUs; if it does, name it in [mdev_%s]",
			out->section->type, out->section->type);
		out->section = NULL;
		return;
	}
	if (!out->section) {
		explain_unnamed(inv, card, out);
		return;
	}
	if (out->claim == CLAIM_DEFAULT && !offered && !card->silent) {
		snprintf(out->reason, sizeof(out->reason),
			 inv->config->policy.several_types ? "supports no enabled type" : "does not support %s",
			 out->section->type);
		out->section = NULL;
		return;
	}
	if (!card->ready)
		snprintf(out->reason, sizeof(out->reason), "%s", card->reason);
	else if (explain_moved(inv, card, out))
		return;
	else if (!offered && *card->gone && strcmp(card->gone, out->section->type) == 0)
		snprintf(out->reason, sizeof(out->reason),
			 "does not support %s with this driver, but did with %s; 'vgpu-lease types' lists the types",
			 card->gone, card->gone_driver);
	else if (!offered)
		snprintf(out->reason, sizeof(out->reason),
			 card->framework == FW_VARIANT && !card->types_whole
				 ? "does not list %s although it is empty; the card may be in MIG mode"
				 : "does not support %s",
			 out->section->type);
	else
		out->in_pool = true;
}

/* The section that names each VF by its own address. */
static void name_vfs(const struct inventory *inv)
{
	for (size_t i = 0; i < inv->config->nsections; i++) {
		const struct section *s = &inv->config->sections[i];

		for (size_t a = 0; a < s->naddresses; a++) {
			struct inv_parent *vf = inventory_parent(inv, s->addresses[a]);

			if (vf && vf->card->sriov && is_for(s, vf->card) && !vf->named)
				vf->named = s;
		}
	}
}

void pool_make(struct inventory *inv, const struct config *config)
{
	inv->config = config;
	name_vfs(inv);
	for (size_t i = 0; i < inv->npgpus; i++)
		place_card(inv, inv->pgpus[i]);
}

/* Is the type that of the card's VFs that no section names, or of several one of these? */
static bool is_of_whole(const struct inventory *inv, const struct inv_pgpu *card, const struct section *s)
{
	if (!inv->config->policy.several_types)
		return s == card->pool.whole;
	return card->pool.whole && claim_of(s, card) == card->pool.claim;
}

/*
 * Of several types: does the card offer others, and not this one? While it is not known what it offers, it serves all
 * that it is named or matched for, and so it does if it offers none of them. (Of a card in use the inventory supposes
 * the offers: see names_type.)
 */
static bool is_not_offered(const struct inv_pgpu *card, const char *type)
{
	if (card->silent || inventory_offer(card, type))
		return false;
	return card->pool.claim == CLAIM_DEFAULT || inventory_offer(card, card->pool.section->type);
}

const struct section *pool_serves(const struct inventory *inv, const struct inv_pgpu *card, const char *type)
{
	for (size_t i = 0; card->pool.section && i < inv->config->nsections; i++) {
		const struct section *s = &inv->config->sections[i];

		if (strcmp(s->type, type) == 0 && (is_of_whole(inv, card, s) || names_vfs(inv, s, card)))
			return s == card->pool.section || !is_not_offered(card, type) ? s : NULL;
	}
	return NULL;
}

bool pool_serves_more(const struct inventory *inv, const struct inv_pgpu *card)
{
	size_t n = inv->config->policy.several_types ? 2 : 0;

	for (size_t i = 0; n < 2 && i < inv->config->nsections; i++)
		n += pool_serves(inv, card, inv->config->sections[i].type) == &inv->config->sections[i];
	return n > 1;
}

bool pool_gives(const struct inventory *inv, const struct inv_parent *parent, const char *type)
{
	const struct section *s = pool_serves(inv, parent->card, type);

	return s && (parent->named ? names_vf(inv, s, parent) : is_of_whole(inv, parent->card, s));
}

const struct section *pool_section_of(const struct inv_parent *parent)
{
	return parent->named ? parent->named : parent->card->pool.whole;
}

bool pool_has_parent(const struct inv_parent *parent)
{
	return parent->card->pool.in_pool && pool_section_of(parent);
}

bool pool_misses(const struct inventory *inv, const struct section *section, const char *address)
{
	for (size_t i = 0; i < inv->npgpus; i++)
		if (is_for(section, inv->pgpus[i]) && pool_address_is(address, inv->pgpus[i]->address))
			return false;
	for (size_t i = 0; i < inv->nparents; i++)
		if (is_for(section, inv->parents[i]->card) && pool_address_is(address, inv->parents[i]->name))
			return false;
	return true;
}
