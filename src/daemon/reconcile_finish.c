/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Give-backs that a hook or a pass has marked: each in a turn that is short, so that one that is stuck holds up no
 * other.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "device/release.h"
#include "base/log.h"
#include "daemon/reconcile.h"

enum { TURN_MS = 20, LOOK_MS = 60000 };

static bool was_said(const struct unfinished *said, const char *id)
{
	for (size_t i = 0; i < said->n; i++)
		if (strcmp(said->ids[i], id) == 0)
			return true;
	return false;
}

/* For a while it is as it should be that a device is open, that its driver is at it, or whoever marked the lease. */
static bool has_time(const struct policy *policy, const struct lease *lease)
{
	int64_t time_ms = (int64_t)(policy->release_timeout_s + policy->driver_cleanup_s) * 1000;

	return host_now_ms() - lease->since_ms < time_ms;
}

/* A hook or a command that has marked it finishes it itself, where that can be done at once. */
static bool is_at_it(const struct lease *lease)
{
	return host_process_lives(lease->writer, lease->writer_start);
}

/* One turn; true where it is done. */
static bool finish_one(struct store *store, const struct policy *policy, const struct lease *lease,
		       const struct unfinished *said, struct unfinished *still)
{
	struct err err = { 0 };
	int r;

	if (has_time(policy, lease) && is_at_it(lease))
		return false;
	r = release_turn(store, policy, lease->vgpu.id, host_now_ms() + TURN_MS, host_now_ms() + LOOK_MS, &err);
	if (r == 0) {
		log_info("release: domain %s: gave back %s", lease->name, lease->vgpu.id);
		return true;
	}
	if ((r == -EBUSY || r == -EAGAIN) && has_time(policy, lease))
		return false;
	if (!was_said(said, lease->vgpu.id))
		log_warn("release: domain %s: %s cannot be given back yet, and is tried again: %s", lease->name,
			 lease->vgpu.id, err.text);
	memcpy(still->ids[still->n++], lease->vgpu.id, ID_SIZE);
	return false;
}

int reconcile_finish(struct store *store, const struct policy *policy, struct unfinished *said, struct err *err)
{
	struct unfinished still = { 0 };
	struct leases leases = { 0 };
	int left = 0, r = store_lock(store, policy->lock_timeout_s * 1000, err);

	if (r == 0)
		r = lease_list(store, &leases, err);
	store_unlock(store);
	if (r < 0)
		return r;
	still.ids = calloc(leases.n + 1, sizeof(*still.ids));
	if (!still.ids)
		abort();
	for (size_t i = 0; i < leases.n; i++)
		if (leases.list[i].state == LEASE_RELEASING &&
		    !finish_one(store, policy, &leases.list[i], said, &still))
			left++;
	lease_list_free(&leases);
	unfinished_free(said);
	*said = still;
	return left;
}

void unfinished_free(struct unfinished *unfinished)
{
	free(unfinished->ids);
	*unfinished = (struct unfinished){ 0 };
}
