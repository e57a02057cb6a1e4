/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which PCI hostdevs of a domain are vGPUs of ours. */
#include "survey/hostdev_filter.h"

#include <string.h>

#include "base/auto.h"
#include "host/inventory.h"
#include "plan/pool.h"
#include "state/store.h"

bool hostdev_filter_possible(const struct config *config)
{
	for (size_t i = 0; i < config->nsections; i++)
		if (config->sections[i].vf || strncmp(config->sections[i].type, "nvidia-", 7) == 0)
			return true;
	return false;
}

bool hostdev_filter_leased(const struct host *host, const char *domain)
{
	autoleases struct leases leases = { 0 };
	struct store store;
	struct err ignored;
	bool any = false;

	if (store_open(&store, host, false, &ignored) == 0 && lease_list(&store, &leases, &ignored) == 0)
		for (size_t i = 0; i < leases.n; i++)
			any |= !domain || strcmp(leases.list[i].domain, domain) == 0;
	store_close(&store);
	return any;
}

/* Of a card that serves something, or that two sections claim; only those of its VFs that are named, where some are. */
static bool is_pooled(const struct pool *pool, const char *vf)
{
	int parent = inventory_parent(pool->inv, vf);
	const struct pool_card *card = parent == UNKNOWN ? NULL : &pool->cards[pool->inv->parents[parent].pgpu];

	if (!card || !(card->section || card->contested))
		return false;
	return !card->limited || !card->in_pool || pool_has_parent(pool, parent);
}

/* Of the requests whose cards are given ("" none), those that are in the pool: keep[i]. */
static int look(bool *keep, char (*cards)[PCI_SIZE], const struct request *request, const struct host *host,
		const struct config *config, struct err *err)
{
	const char *names[REQUEST_MAX + 1] = { NULL };
	const struct inv_query query = { .frameworks = INV_VARIANT | INV_VF,
					 .types = inv_no_types,
					 .cards = names,
					 .vf_name = pool_vf_name,
					 .arg = config };
	struct inventory inv;
	struct pool pool;
	size_t n = 0;
	int r;

	for (size_t i = 0; i < request->nvgpus; i++) {
		size_t seen = 0;

		while (seen < n && strcmp(names[seen], cards[i]) != 0)
			seen++;
		if (*cards[i] && seen == n)
			names[n++] = cards[i];
	}
	r = inventory_read(&inv, host, &query, err);
	if (r < 0)
		return r;
	pool_make(&pool, config, &inv);
	for (size_t i = 0; i < request->nvgpus; i++)
		keep[i] |= *cards[i] && is_pooled(&pool, request->vgpus[i].id);
	pool_free(&pool);
	inventory_free(&inv);
	return 0;
}

static bool is_leased(const struct leases *leases, const struct request *request, const char *id)
{
	const struct lease *lease = leases ? lease_find(leases, id) : NULL;

	return lease && strcmp(lease->domain, request->uuid) == 0;
}

/*
 * A VF that is being disabled has no card any more. It is ours where somebody leases it, or where it is named itself:
 * libvirt would wait for the guest that has it.
 */
static bool is_going(const struct host *host, const struct config *config, const char *id)
{
	autoleases struct leases leases = { 0 };
	struct inv_pgpu vf;
	struct store store;
	struct err ignored;
	bool is_leased;

	if (!inventory_vf_going(host, id))
		return false;
	is_leased = store_open(&store, host, false, &ignored) == 0 && lease_list(&store, &leases, &ignored) == 0 &&
		    lease_find(&leases, id);
	store_close(&store);
	return is_leased || (inventory_card(host, id, &vf) && pool_names(config, &vf, id));
}

int hostdev_filter_keep(struct domxml *doc, const struct host *host, const struct config *config,
			const struct leases *leases, struct err *err)
{
	const struct request *request = domxml_request(doc);
	bool keep[REQUEST_MAX] = { false }, any = false;
	char cards[REQUEST_MAX][PCI_SIZE] = { "" };
	int r = 0;

	for (size_t i = 0; i < request->nvgpus; i++) {
		const struct vgpu_request *req = &request->vgpus[i];
		struct inv_pgpu card;

		keep[i] = req->kind == REQUEST_MDEV || req->has_metadata || is_leased(leases, request, req->id);
		if (keep[i] || !config || !hostdev_filter_possible(config))
			continue;
		if (!inventory_physfn(host, req->id, cards[i])) {
			keep[i] = is_going(host, config, req->id);
			continue;
		}
		/* One of a card that is named is ours also while that is not ready, and so not in the inventory. */
		keep[i] = inventory_card(host, cards[i], &card) && pool_names(config, &card, req->id);
		any |= !keep[i];
	}
	if (any)
		r = look(keep, cards, request, host, config, err);
	if (r == 0)
		domxml_keep(doc, keep);
	return r;
}
