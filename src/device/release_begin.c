/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The beginning of a release: which leases a domain gives up, and whether their devices are removed. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "device/release.h"
#include "base/mem.h"
#include "host/mdevctl_files.h"
#include "internal.h"
#include "model/event.h"
#include "model/owner.h"

bool release_removes(const struct store *store, const struct lease *lease)
{
	struct owner_facts facts = { .framework = lease->vgpu.framework, .created = lease->origin == LEASE_CREATED };

	if (!facts.created || lease->state == LEASE_RESERVED)
		return false;
	/* mdevctl may have defined the device while it was active. A half-created device is ours to remove. */
	if (lease->state == LEASE_ACTIVE)
		facts.defined = mdevctl_defines(store->host, lease->vgpu.id);
	return owner_origin(owner_of(&facts)) == LEASE_CREATED;
}

void release_give_up(const struct store *store, struct lease *lease)
{
	lease->origin = release_removes(store, lease) ? LEASE_CREATED : LEASE_ADOPTED;
	lease->state = LEASE_RELEASING;
}

static int mark(struct store *store, struct lease *lease, struct release_ids *ids, struct err *err)
{
	const struct event_about about = event_of(lease);

	/* A reservation creates no device, so one that exists is not ours. */
	if (lease->state == LEASE_RESERVED) {
		if (lease_drop(store, lease->vgpu.id, err) < 0)
			return -err->code;
		event_log(EVENT_RELEASED, &about, "release: domain %s: dropped the reservation of %s", lease->name,
			  lease->vgpu.id);
		return 0;
	}
	ids->list[ids->n++] = lease->vgpu;
	/* The driver's time begins at the first mark. A new writer keeps the previous one from undoing its mark. */
	if (lease->state == LEASE_RELEASING)
		return lease_take(store, lease, err);
	release_give_up(store, lease);
	return lease_put(store, lease, err);
}

int release_mark(struct store *store, const char *domain, int64_t asked_ms, int wait_ms, struct release_ids *ids,
		 struct err *err)
{
	autoleases struct leases leases = { 0 };
	int r = store_lock(store, wait_ms, err);

	*ids = (struct release_ids){ 0 };
	if (r < 0)
		return r;
	r = lease_list(store, &leases, err);
	ids->list = mem_new(leases.n + 1, sizeof(*ids->list));
	for (size_t i = 0; r == 0 && i < leases.n; i++)
		if (strcmp(leases.list[i].domain, domain) == 0 &&
		    (leases.list[i].since_ms <= asked_ms || leases.list[i].state == LEASE_RELEASING))
			r = mark(store, &leases.list[i], ids, err);
	store_unlock(store);
	return r;
}
