/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The flows that give back or restore what is known: release and reconnect. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attach.h"
#include "auto.h"
#include "bounded.h"
#include "giveback.h"
#include "log.h"

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

static int restore_lease(const struct store *store, const struct inventory *inv, const struct leases *leases,
			 const struct request *request, const struct inv_device *device, struct err *err)
{
	const struct lease *there = lease_find(leases, device->id);
	const struct inv_pgpu *card = device->parent == UNKNOWN ? NULL : &inv->pgpus[inv->parents[device->parent].pgpu];
	const struct inv_type *type = inventory_type(inv, device->type);
	struct lease lease = { .framework = FW_MDEV, .state = LEASE_ACTIVE, .origin = LEASE_ADOPTED };
	struct affinity affinity;

	if (there && strcmp(there->domain, request->uuid) != 0)
		return err_set(err, EEXIST, "vGPU %s runs in this domain, but is leased to domain %s", device->id,
			       there->name);
	if (there && there->state == LEASE_ACTIVE)
		return 0;
	/* What this boot's hook made is ours to remove, though the record of the lease was lost. */
	if (there)
		lease.origin = there->origin;
	else if (affinity_get(store, device->id, &affinity) && affinity.made_this_boot)
		lease.origin = LEASE_CREATED;
	memcpy(lease.id, device->id, sizeof(lease.id));
	memcpy(lease.domain, request->uuid, sizeof(lease.domain));
	memcpy(lease.name, request->name, sizeof(lease.name));
	memcpy(lease.project, request->project, sizeof(lease.project));
	memcpy(lease.type, device->type, sizeof(lease.type));
	memcpy(lease.parent, device->parent_name, sizeof(lease.parent));
	memcpy(lease.pgpu, card ? card->address : device->parent_name, sizeof(lease.pgpu));
	lease.numa = card ? card->numa : UNKNOWN;
	lease.framebuffer_mib = type ? type->framebuffer_mib : UNKNOWN;
	if (lease_put(store, &lease, err) < 0)
		return -err->code;
	log_info("reconnect: domain %s: restored the lease of %s, %s on %s", lease.name, lease.id, lease.type,
		 lease.parent);
	return 0;
}

int attach_reconnect(const struct attach *attach, struct err *err)
{
	static const char *const no_types[] = { NULL };
	struct store store;
	struct inventory inv = { 0 };
	struct leases leases = { 0 };
	int r = store_open(&store, attach->host, true, err);

	if (r == 0)
		r = inventory_read(&inv, attach->host, no_types, err);
	if (r == 0)
		r = store_lock(&store, attach->policy->lock_timeout_s * 1000, err);
	if (r == 0)
		r = lease_list(&store, &leases, err);
	for (size_t i = 0; r == 0 && i < attach->request->nwants; i++) {
		const struct inv_device *device = inventory_device(&inv, attach->request->wants[i].id);

		if (device && *device->type)
			r = restore_lease(&store, &inv, &leases, attach->request, device, err);
	}
	lease_list_free(&leases);
	inventory_free(&inv);
	store_close(&store);
	return r;
}
