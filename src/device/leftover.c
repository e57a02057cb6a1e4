/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the releases of other domains left behind. */
#include "device/leftover.h"

#include <unistd.h>

#include "base/timed_child.h"
#include "device/release.h"
#include "base/log.h"
#include "model/event.h"

enum { TURN_MS = 500 };

static bool is_left(const struct store *store, const struct policy *policy, const struct lease *lease)
{
	int64_t time_ms = (int64_t)(policy->release_timeout_s + policy->driver_cleanup_s) * 1000;

	return lease->state == LEASE_RELEASING && host_now_ms() - lease->since_ms > time_ms &&
	       !store_pgpu_busy(store, lease->vgpu.pgpu) && !store_removes(store, lease->vgpu.id);
}

bool leftover_any(const struct store *store, const struct policy *policy, const struct leases *leases)
{
	for (size_t i = 0; i < leases->n; i++)
		if (is_left(store, policy, &leases->list[i]))
			return !store_handler_runs(store);
	return false;
}

void leftover_finish(const struct host *host, const struct policy *policy)
{
	struct leases leases = { 0 };
	struct store store;
	struct err err = { 0 };

	log_close();
	if (timed_child_detach(host->root, &err) <= 0)
		return;
	if (store_open(&store, host, true, &err) < 0 || lease_list(&store, &leases, &err) < 0)
		_exit(1);
	for (size_t i = 0; i < leases.n; i++) {
		const struct lease *lease = &leases.list[i];
		const struct event_about about = event_of(lease);

		if (is_left(&store, policy, lease) &&
		    release_finish(&store, policy, lease->vgpu.id, host_now_ms() + TURN_MS, &err) == 0)
			event_log(EVENT_RELEASED, &about, "release: domain %s: released %s, which was left",
				  lease->name, lease->vgpu.id);
	}
	_exit(0);
}
