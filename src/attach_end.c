/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The flows that give back or restore what is known: release and reconnect. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "adopt.h"
#include "attach.h"
#include "auto.h"
#include "bounded.h"
#include "giveback.h"
#include "log.h"
#include "text.h"
#include "wish.h"

enum { TURN_MS = 200 };

/* Gives back what can be given back by the deadline; how many are left. */
static size_t finish(struct store *store, const struct policy *policy, char (*ids)[ID_SIZE], size_t n, const char *name,
		     int64_t deadline_ms, bool last)
{
	size_t left = 0;

	for (size_t i = 0; i < n; i++) {
		struct err err = { 0 };
		int r = giveback_finish(store, policy, ids[i], deadline_ms, &err);

		if (r == 0) {
			log_info("release: domain %s: gave back %s", name, ids[i]);
			continue;
		}
		if (last)
			log_warn("release: domain %s: %s stays for 'vgpu-lease gc': %s", name, ids[i], err.text);
		memmove(ids[left++], ids[i], ID_SIZE);
	}
	return left;
}

/* In a child of our own, whom libvirt does not wait for: the rest of the time that a give-back may take. */
static void finish_detached(struct store *store, const struct policy *policy, char (*ids)[ID_SIZE], size_t n,
			    const char *name)
{
	struct host host = { .root = store->host->root, .name = store->host->name };
	struct store own;
	struct err err = { 0 };
	int64_t end;
	int r;

	log_close();
	r = bounded_detach(host.root, &err);
	if (r < 0)
		log_warn("release: domain %s: %zu left for 'vgpu-lease gc': %s", name, n, err.text);
	if (r <= 0)
		return;
	if (store_open(&own, &host, true, &err) < 0)
		_exit(1);
	end = host_now_ms() + (int64_t)(policy->release_timeout_s + policy->driver_cleanup_s) * 1000;
	/* In short turns, so that one that stays open does not hold up the others. */
	while (n > 0 && host_now_ms() < end) {
		n = finish(&own, policy, ids, n, name, host_now_ms() + TURN_MS, false);
		if (n > 0)
			host_sleep_ms(TURN_MS / 2);
	}
	if (n > 0)
		finish(&own, policy, ids, n, name, host_now_ms(), true);
	_exit(0);
}

int attach_release(const struct host *host, const struct policy *policy, const char *domain, const char *name,
		   struct err *err)
{
	int64_t deadline = host_now_ms() + (int64_t)policy->release_wait_s * 1000;
	autofree char(*ids)[ID_SIZE] = NULL;
	struct store store;
	size_t n;
	int r = store_open(&store, host, false, err);

	if (r < 0)
		return r;
	/* No store: nothing was ever leased. */
	if (store.leases >= 0) {
		r = giveback_mark(&store, domain, policy->release_wait_s * 1000, &ids, &n, err);
		if (r == 0 && n > 0)
			n = finish(&store, policy, ids, n, name, deadline, false);
		if (r == 0 && n > 0 && !store_handler_runs(&store))
			finish_detached(&store, policy, ids, n, name);
	}
	store_close(&store);
	return r;
}

int attach_reconnect(const struct attach *attach, struct err *err)
{
	static const char *const no_types[] = { NULL };
	struct inv_query query = { .types = no_types };
	struct store store;
	struct inventory inv = { 0 };
	struct leases leases = { 0 };
	int r = store_open(&store, attach->host, true, err);

	for (size_t i = 0; i < attach->request->nwants; i++)
		query.frameworks |= wish_frameworks(&attach->request->wants[i]);
	query.vf_name = attach->config ? pool_vf_name : NULL;
	query.arg = attach->config;
	if (r == 0)
		r = inventory_read(&inv, attach->host, &query, err);
	if (r == 0)
		r = store_lock(&store, attach->policy->lock_timeout_s * 1000, err);
	if (r == 0)
		r = lease_list(&store, &leases, err);
	for (size_t i = 0; r == 0 && i < attach->request->nwants; i++) {
		const char *id = attach->request->wants[i].id;
		struct inv_device device;

		if (adopt_find(&device, &inv, id))
			r = adopt_device(&store, &inv, &leases, attach->request, &device, ADOPT_LOST, err);
		r = r > 0 ? 0 : r;
	}
	lease_list_free(&leases);
	inventory_free(&inv);
	store_close(&store);
	return r;
}
