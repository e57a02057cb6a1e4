/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Finishing what other domains left behind. */
#include "ops/leftover.h"

#include <errno.h>
#include <unistd.h>

#include "sys/log.h"
#include "sys/timed_child.h"
#include "device/release.h"
#include "host/libvirt_daemon.h"
#include "host/libvirt_files.h"
#include "model/event.h"
#include "ops/gc.h"
#include "survey/reclaim.h"

/* The minimum age of an active lease: long, because a slow start must keep it, and nobody needs its capacity yet. */
enum { LEAST_GRACE_MS = 300000 };

/* Must be cheap and read none of libvirt's files, because a hook asks this of each lease. */
static bool is_left(const struct store *store, const struct policy *policy, const struct lease *lease)
{
	int64_t age_ms = sys_now_ms() - lease->since_ms;

	switch (lease->state) {
	case LEASE_RESERVED:
		return false;
	case LEASE_CREATING:
		if (age_ms < (int64_t)policy->create_timeout_s * 1000)
			return false;
		break;
	case LEASE_ACTIVE:
		if (age_ms < LEAST_GRACE_MS || age_ms < (int64_t)policy->start_grace_s * 1000 ||
		    libvirt_files_has_status(store->host, lease->name))
			return false;
		break;
	case LEASE_RELEASING:
		/* Within the release's time, its writer finishes it. */
		if (!release_has_time(policy, lease))
			return !store_locked(store, lease->vgpu.pgpu) && !store_removes(store, lease->vgpu.id);
		break;
	}
	return !reclaim_at_work(store, lease);
}

bool leftover_any(const struct store *store, const struct policy *policy, const struct leases *leases)
{
	for (size_t i = 0; i < leases->n; i++)
		if (is_left(store, policy, &leases->list[i]))
			return !store_handler_runs(store);
	return false;
}

/* Marks the lease if the pass found it stale and is_left() still holds. */
static bool claim_one(struct gc *pass, struct gc_item *item)
{
	struct err err;

	return item->leased && item->outcome == GC_GOES && is_left(pass->store, pass->policy, &item->lease) &&
	       release_claim(pass->store, &item->lease, release_lock_by(pass->policy), &err) == 1;
}

static int finish_one(void *arg, size_t i, int64_t deadline_ms, int64_t look_by_ms, bool last)
{
	struct gc *pass = arg;
	const struct gc_item *item = &pass->items[i];
	const struct event_about about = event_of(&item->lease);
	struct err err;
	int r;

	if (item->outcome != GC_GOES)
		return 0;
	r = release_turn(pass->store, pass->policy, item->vgpu.id, deadline_ms, look_by_ms, &err);
	if (r == 0)
		event_log(EVENT_RELEASED, &about, "release: domain %s: released %s, which was left: %s",
			  item->lease.name, item->vgpu.id, item->why);
	else if (last && r == -EBUSY)
		release_put_back(pass->store, pass->policy, &item->lease);
	return r;
}

void leftover_finish(const struct host *host, const struct config *config, const struct policy *policy)
{
	struct host own = { .root = host->root, .libvirt = host->root, .name = host->name };
	struct store store;
	struct gc pass = { .store = &store, .config = config, .policy = policy, .dry = true };
	struct err err = { 0 };

	log_close();
	if (timed_child_detach(own.root, &err) <= 0)
		return;
	/* The child has closed the inherited descriptor of libvirt's root. */
	if (host->libvirt != host->root)
		libvirt_daemon_follow(&own);
	if (store_open(&store, &own, true, &err) < 0 || gc_run(&pass, &err) < 0) {
		log_warn("leases of other domains not released: %s; run 'vgpu-lease gc'", err.text);
		log_close();
		_exit(1);
	}
	for (size_t i = 0; i < pass.n; i++)
		if (!claim_one(&pass, &pass.items[i]))
			pass.items[i].outcome = GC_STAYS;
	release_in_turns(pass.n, release_by(pass.policy), finish_one, &pass);
	log_close();
	_exit(0);
}
