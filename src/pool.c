/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The pool: which pGPU serves which type, and why one does not. */
#include "pool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static bool matches_card(const struct section *s, const struct inv_pgpu *card)
{
	for (size_t i = 0; i < s->nmatches; i++) {
		const struct match *m = &s->matches[i];

		if ((!*m->vendor || strcmp(m->vendor, card->vendor) == 0) &&
		    (!*m->device || strcmp(m->device, card->device) == 0) && (m->numa < 0 || m->numa == card->numa))
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

/* The section that names the card by `by`; two of them: neither, and *two says so. */
static const struct section *find_section(const struct pool *pool, const struct inv_pgpu *card, bool by_address,
					  bool *limited, const struct section **two)
{
	const struct section *found = NULL;

	for (size_t i = 0; i < pool->config->nsections; i++) {
		const struct section *s = &pool->config->sections[i];
		enum naming how = NOT_NAMED;

		if (!s->enabled || s->vf != (card->framework == FW_VF))
			continue;
		if (by_address)
			how = names_card(s, card, pool->inv->parents + card->first, (size_t)card->nparents);
		if ((by_address ? how == NOT_NAMED : !matches_card(s, card)))
			continue;
		if (found) {
			*two = s;
			return found;
		}
		found = s;
		*limited = how == NAMED_VFS;
	}
	return found;
}

/* The first enabled type that names no card at all serves those that no section names. */
static const struct section *default_section(const struct config *config)
{
	for (size_t i = 0; i < config->nsections; i++) {
		const struct section *s = &config->sections[i];

		if (s->enabled && !s->vf && !s->naddresses && !s->nmatches)
			return s;
	}
	return NULL;
}

static void place_card(const struct pool *pool, const struct inv_pgpu *card, int index, struct pool_card *out)
{
	const struct section *two = NULL;

	out->section = find_section(pool, card, true, &out->limited, &two);
	if (!out->section && !two)
		out->section = find_section(pool, card, false, &out->limited, &two);
	if (two) {
		out->contested = true;
		snprintf(out->reason, sizeof(out->reason),
			 "the configuration gives it to both %s and %s: name one of them", out->section->type,
			 two->type);
		out->section = NULL;
		return;
	}
	if (!out->section) {
		out->section = card->framework == FW_VF ? NULL : default_section(pool->config);
		if (!out->section || !inventory_offer(pool->inv, index, out->section->type)) {
			out->section = NULL;
			snprintf(out->reason, sizeof(out->reason), "no section of the configuration names it");
			return;
		}
	}
	if (!card->ready)
		snprintf(out->reason, sizeof(out->reason), "%s", card->reason);
	else if (!inventory_offer(pool->inv, index, out->section->type))
		snprintf(
			out->reason, sizeof(out->reason),
			card->framework == FW_VARIANT && !card->types_whole
				? "does not list %s now: it carries other vGPUs, and what it lists when it is empty has not "
				  "been seen"
				: "has no type %s",
			out->section->type);
	else
		out->in_pool = true;
}

void pool_make(struct pool *pool, const struct config *config, const struct inventory *inv)
{
	*pool = (struct pool){ .config = config, .inv = inv };
	pool->cards = calloc(inv->npgpus + 1, sizeof(*pool->cards));
	if (!pool->cards)
		abort();
	for (size_t i = 0; i < inv->npgpus; i++)
		place_card(pool, &inv->pgpus[i], (int)i, &pool->cards[i]);
}

void pool_free(struct pool *pool)
{
	free(pool->cards);
	pool->cards = NULL;
}

bool pool_has_parent(const struct pool *pool, int parent)
{
	const struct inv_parent *p = &pool->inv->parents[parent];
	const struct pool_card *card = &pool->cards[p->pgpu];

	if (!card->in_pool)
		return false;
	for (size_t i = 0; card->limited && i < card->section->naddresses; i++)
		if (strcmp(card->section->addresses[i], p->name) == 0)
			return true;
	return !card->limited;
}

bool pool_lacks(const struct pool *pool, const struct section *section, const char *address)
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
