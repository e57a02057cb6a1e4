/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the pool has to create a type from, and which of its types are the readiest. */
#include <string.h>

#include "plan/pool.h"

enum stock pool_stock(const struct pool *pool, const struct section *section, bool mdev, int parent)
{
	int pgpu = parent == UNKNOWN ? UNKNOWN : pool->inv->parents[parent].pgpu;
	enum stock stock = STOCK_NONE;

	for (int g = 0; g < (int)pool->inv->npgpus && stock != STOCK_READY; g++) {
		if ((pgpu != UNKNOWN && g != pgpu) || (pool->inv->pgpus[g].framework == FW_MDEV) != mdev ||
		    pool_serves(pool, g, section->type) != section ||
		    (parent != UNKNOWN && !pool_gives(pool, parent, section->type)))
			continue;
		stock = pool->cards[g].in_pool ? STOCK_READY : STOCK_UNREADY;
	}
	return stock;
}

static enum stock best_stock(const struct pool *pool, bool mdev, int parent)
{
	const struct section *sections = pool->config->sections;
	enum stock best = STOCK_NONE;

	for (size_t i = 0; sections && i < pool->config->nsections; i++) {
		const struct section *s = &sections[i];
		enum stock stock = pool_stock(pool, s, mdev, parent);

		if (stock > best)
			best = stock;
	}
	return best;
}

bool pool_has_type(const struct pool *pool, const struct section *section, bool mdev, int parent)
{
	enum stock best = best_stock(pool, mdev, parent);

	if (best == STOCK_NONE)
		return mdev && parent == UNKNOWN && !section->vf;
	return pool_stock(pool, section, mdev, parent) == best;
}

size_t pool_types(const struct pool *pool, bool mdev, int parent, const struct section **first)
{
	const struct section *sections = pool->config->sections;
	size_t n = 0;

	*first = NULL;
	for (size_t i = 0; sections && i < pool->config->nsections; i++) {
		const struct section *s = &sections[i];

		if (pool_has_type(pool, s, mdev, parent) && n++ == 0)
			*first = s;
	}
	return n;
}
