/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the pool has to create a type from, and which of its types are the readiest. */
#include <string.h>

#include "plan/pool.h"

enum stock pool_stock(const struct inventory *inv, const struct section *section, bool mdev,
		      const struct inv_parent *parent)
{
	enum stock stock = STOCK_NONE;

	for (size_t g = 0; g < inv->npgpus && stock != STOCK_READY; g++) {
		const struct inv_pgpu *card = inv->pgpus[g];

		if ((parent && card != parent->card) || (card->framework == FW_MDEV) != mdev ||
		    pool_serves(inv, card, section->type) != section ||
		    (parent && !pool_gives(inv, parent, section->type)))
			continue;
		stock = card->pool.in_pool ? STOCK_READY : STOCK_UNREADY;
	}
	return stock;
}

static enum stock best_stock(const struct inventory *inv, bool mdev, const struct inv_parent *parent)
{
	const struct section *sections = inv->config->sections;
	enum stock best = STOCK_NONE;

	for (size_t i = 0; sections && i < inv->config->nsections; i++) {
		const struct section *s = &sections[i];
		enum stock stock = pool_stock(inv, s, mdev, parent);

		if (stock > best)
			best = stock;
	}
	return best;
}

bool pool_has_type(const struct inventory *inv, const struct section *section, bool mdev,
		   const struct inv_parent *parent)
{
	enum stock best = best_stock(inv, mdev, parent);

	if (best == STOCK_NONE)
		return mdev && !parent && !section->vf;
	return pool_stock(inv, section, mdev, parent) == best;
}

size_t pool_types(const struct inventory *inv, bool mdev, const struct inv_parent *parent, const struct section **first)
{
	const struct section *sections = inv->config->sections;
	size_t n = 0;

	*first = NULL;
	for (size_t i = 0; sections && i < inv->config->nsections; i++) {
		const struct section *s = &sections[i];

		if (pool_has_type(inv, s, mdev, parent) && n++ == 0)
			*first = s;
	}
	return n;
}
