/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a section names or matches, and how ready the cards for its type are. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "plan/pool.h"

/* libvirt's node devices, and so Nova, call the parent mtty "mtty_mtty": the driver's name, then the device's. */
bool pool_address_is(const char *address, const char *name)
{
	size_t n = strlen(name);

	if (strcmp(address, name) == 0)
		return true;
	return strlen(address) == 2 * n + 1 && strncmp(address, name, n) == 0 && address[n] == '_' &&
	       strcmp(address + n + 1, name) == 0;
}

bool pool_section_names(const struct section *s, const char *name)
{
	for (size_t i = 0; i < s->naddresses; i++)
		if (pool_address_is(s->addresses[i].text, name))
			return true;
	return false;
}

/* Does the section name the card or a VF of it, or match the card? */
static bool means_card(const struct section *s, const struct inv_pgpu *card)
{
	if (pool_section_names(s, card->address) || pool_matches(s, card))
		return true;
	for (int p = 0; p < card->nparents; p++)
		if (pool_section_names(s, card->parents[p]->name))
			return true;
	return false;
}

bool pool_match(const struct match *m, const struct inv_pgpu *card)
{
	return (!*m->vendor || strcmp(m->vendor, card->vendor) == 0) &&
	       (!*m->device || strcmp(m->device, card->device) == 0) &&
	       (!*m->subdevice || (*card->subsystem && strcmp(m->subdevice, card->subsystem + 5) == 0)) &&
	       (m->numa < 0 || m->numa == card->numa);
}

bool pool_matches_twice(const struct config *config)
{
	size_t n = 0;

	for (size_t i = 0; config && i < config->nsections; i++)
		n += config->sections[i].nmatches > 0;
	return n > 1;
}

const struct match *pool_matches(const struct section *s, const struct inv_pgpu *card)
{
	/* A match by vendor or NUMA node alone means only GPUs. Network cards and FPGAs can also have plain VFs. */
	for (size_t i = 0; i < s->nmatches; i++)
		if (pool_match(&s->matches[i], card) && !(s->vf && !card->gpu && !*s->matches[i].device))
			return &s->matches[i];
	return NULL;
}

bool pool_is_elsewhere(const struct section *s, const struct inv_pgpu *card, char why[REASON_SIZE])
{
	for (size_t i = 0; i < s->nmatches; i++) {
		const struct match *match = &s->matches[i];
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

bool pool_names(const struct config *config, const struct inv_pgpu *card, const char *vf)
{
	for (const struct section *s = config->sections; s < config->sections + config->nsections; s++)
		if (pool_section_names(s, card->address) || pool_section_names(s, vf) || pool_matches(s, card))
			return true;
	return false;
}

const char *pool_name(const void *config, const struct inv_pgpu *card, size_t n)
{
	const struct config *c = config;

	for (size_t i = 0; c && i < c->nsections; i++) {
		const struct section *s = &c->sections[i];

		if (s->vf == (card->framework == FW_VF) && means_card(s, card) && n-- == 0)
			return s->type;
	}
	return NULL;
}

enum stock pool_stock(const struct inventory *inv, const struct section *section, bool mdev,
		      const struct inv_parent *parent)
{
	enum stock stock = STOCK_NONE;

	for (size_t g = 0; g < inv->npgpus && stock != STOCK_READY; g++) {
		const struct inv_pgpu *card = inv->pgpus[g];

		if ((parent && card != parent->card) || (card->framework == FW_MDEV) != mdev ||
		    pool_serves(card, section->type) != section || (parent && !pool_gives(parent, section->type)))
			continue;
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

	for (const struct section *s = config->sections; s < config->sections + config->nsections; s++) {
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
