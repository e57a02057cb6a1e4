/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What could be served at most. */
#include "model/day/bounds.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "model/day/host.h"
#include "lib/tree.h"

void bounds_add(struct bounds_pool *pool, const char *model)
{
	struct sim_spec spec;
	struct err err = { 0 };

	if (sim_model_parse(&spec, model, &err) < 0)
		tree_fail(err.text);
	for (int i = 0; i < spec.nitems; i++) {
		const struct sim_item *item = &spec.items[i];

		for (int c = 0; c < item->cards; c++) {
			struct bounds_card *card = &pool->cards[pool->ncards++];

			card->gib = item->model->framebuffer_gib;
			card->most = item->model->instances_max;
			if (item->vfs > 0 && item->vfs < card->most)
				card->most = item->vfs;
		}
	}
}

static int fitting(const struct bounds_card *card, int size)
{
	return card->gib / size < card->most ? card->gib / size : card->most;
}

static int arrive_at_card(struct bounds_pool *pool, int size)
{
	struct bounds_card *best = NULL;

	for (struct bounds_card *c = pool->cards; c < pool->cards + pool->ncards; c++) {
		if ((c->used && c->size != size) || c->used >= fitting(c, size))
			continue;
		if (!best || c->used * best->gib > best->used * c->gib ||
		    (c->used * best->gib == best->used * c->gib && c->gib < best->gib))
			best = c;
	}
	if (!best)
		return -1;
	best->size = size;
	best->used++;
	return (int)(best - pool->cards);
}

/*
 * Do all fit, however they are placed? The cards are of two kinds: for each number of large ones that the sizes so far
 * have, the least number of small ones that they need.
 */
static bool all_fit(const struct bounds_pool *pool)
{
	const struct bounds_card *small = &pool->cards[0], *large = small;
	int nsmall = 0, nlarge = 0, least[32 + 1] = { 0 };

	for (const struct bounds_card *c = pool->cards; c < pool->cards + pool->ncards; c++) {
		small = c->gib < small->gib ? c : small;
		large = c->gib > large->gib ? c : large;
	}
	for (const struct bounds_card *c = pool->cards; c < pool->cards + pool->ncards; c++) {
		nsmall += c->gib == small->gib && c->most == small->most;
		nlarge += c->gib == large->gib && c->most == large->most;
	}
	if (nsmall + nlarge != pool->ncards)
		abort();
	for (int s = 0; s < SIZES; s++) {
		int size = day_sizes[s], n = pool->sizes[size], next[32 + 1] = { 0 };

		for (int all = 0; all <= nlarge; all++) {
			next[all] = INT_MAX;
			for (int ours = 0; ours <= all; ours++) {
				int left = n - ours * fitting(large, size), per_card = fitting(small, size), need = 0;

				if (left > 0 && !per_card)
					continue;
				if (left > 0)
					need = (left + per_card - 1) / per_card;
				if (least[all - ours] != INT_MAX && least[all - ours] + need < next[all])
					next[all] = least[all - ours] + need;
			}
		}
		memcpy(least, next, sizeof(least));
	}
	return least[nlarge] <= nsmall;
}

int bounds_arrive(struct bounds_pool *pool, int size)
{
	if (pool->bound == NO_MOVES)
		return arrive_at_card(pool, size);
	pool->sizes[size]++;
	if (all_fit(pool))
		return 0;
	pool->sizes[size]--;
	return -1;
}

void bounds_leave(struct bounds_pool *pool, int card, int size)
{
	if (pool->bound == NO_MOVES)
		pool->cards[card].used--;
	else
		pool->sizes[size]--;
}
