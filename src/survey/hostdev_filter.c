/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which PCI hostdevs of a domain are our vGPUs. */
#include "survey/hostdev_filter.h"

#include <string.h>

#include "base/auto.h"
#include "host/inventory.h"
#include "plan/pool.h"
#include "state/history.h"
#include "state/store.h"
#include "survey/placeholder.h"

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

static bool is_leased(const struct leases *leases, const struct request *request, const char *id)
{
	const struct lease *lease = leases ? lease_find(leases, id) : NULL;

	return lease && strcmp(lease->domain, request->uuid) == 0;
}

/* Is it leased to any domain? */
static bool is_anybodys(const struct host *host, const char *id)
{
	autoleases struct leases leases = { 0 };
	struct store store;
	struct err ignored;
	bool found = store_open(&store, host, false, &ignored) == 0 && lease_list(&store, &leases, &ignored) == 0 &&
		     lease_find(&leases, id);

	store_close(&store);
	return found;
}

static bool was_ours(const struct host *host, const char *id)
{
	struct affinity affinity;
	struct store store;
	struct err ignored;
	bool found = store_open(&store, host, false, &ignored) == 0 && affinity_get(&store, id, &affinity);

	store_close(&store);
	return found;
}

/* Without a configuration, a plain VF is passed through like any PCI device, because nothing has to create it. */
static bool is_plain_vf(const struct host *host, const char *address)
{
	char card[PCI_SIZE];

	return inventory_physfn(host, address, card) && !inventory_takes_type(host, address);
}

static bool types_enabled(const struct config *config)
{
	for (size_t i = 0; i < config->nsections; i++)
		if (strncmp(config->sections[i].type, "nvidia-", 7) == 0)
			return true;
	return false;
}

/* Could a type that claims all remaining cards claim this one? */
static bool is_rest(const struct config *config, const struct inv_pgpu *card)
{
	for (size_t i = 0; i < config->nsections; i++)
		if (config_takes_rest(&config->sections[i]) && strncmp(config->sections[i].type, "nvidia-", 7) == 0)
			return card->nvidia;
	return false;
}

/* Judges a VF by its card, or if it is being disabled by itself, because it no longer has a link to the card. */
static enum ours by_device(const struct host *host, const struct config *config, const char *id)
{
	char address[PCI_SIZE];
	struct inv_pgpu card;

	if (inventory_physfn(host, id, address)) {
		if (inventory_read_card(host, address, &card) && pool_names(config, &card, id))
			return OURS_CONFIGURED;
		/* A section that has the VFs' ID instead of the card's means this VF, whose start will be refused. */
		if (inventory_read_card(host, id, &card) && pool_names(config, &card, ""))
			return OURS_CONFIGURED;
		return types_enabled(config) && inventory_takes_type(host, id) ? OURS_TYPED : OURS_NOT;
	}
	if (inventory_exists(host, id)) {
		if (!inventory_vf_going(host, id))
			return OURS_NOT;
		if (is_anybodys(host, id))
			return OURS_LEASED;
		return inventory_read_card(host, id, &card) && pool_names(config, &card, id) ? OURS_CONFIGURED
											     : OURS_NOT;
	}
	if (inventory_absent_vf(host, id, address) && inventory_read_card(host, address, &card) &&
	    (pool_names(config, &card, id) || is_rest(config, &card)))
		return OURS_ABSENT;
	if (pool_names(config, &(struct inv_pgpu){ .numa = UNKNOWN }, id))
		return OURS_CONFIGURED;
	return was_ours(host, id) ? OURS_BEFORE : OURS_NOT;
}

enum ours hostdev_ours(const struct request *request, const struct vgpu_request *req, const struct host *host,
		       const struct config *config, const struct leases *leases)
{
	if (is_leased(leases, request, req->id))
		return OURS_LEASED;
	if (req->has_metadata && (config || !host || !is_plain_vf(host, req->id)))
		return OURS_NAMED;
	if (!config || !hostdev_filter_possible(config))
		return OURS_NOT;
	return by_device(host, config, req->id);
}

void hostdev_filter_keep(struct domxml *doc, const struct host *host, const struct config *config,
			 const struct leases *leases)
{
	const struct request *request = domxml_request(doc);
	bool keep[REQUEST_MAX] = { false };

	if (host)
		placeholder_settle(doc, host);
	for (size_t i = 0; i < request->nvgpus; i++)
		keep[i] = request->vgpus[i].kind == REQUEST_MDEV ||
			  hostdev_ours(request, &request->vgpus[i], host, config, leases) != OURS_NOT;
	domxml_keep(doc, keep);
}
