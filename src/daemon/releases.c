/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Completes releases that a hook, a command or a pass has marked. */
#include "daemon/releases.h"

#include <errno.h>

#include "device/release.h"
#include "model/event.h"
#include "state/lease_store.h"

enum { TURN_MS = 20, LOOK_MS = 60000, LOCK_MS = 5000 };

/* Takes one turn. Returns true if the lease is released. */
static bool finish_one(struct store *store, const struct policy *policy, const struct lease *lease,
		       const struct lease_marks *logged, struct lease_marks *failed)
{
	const struct event_about about = event_of(lease);
	struct err err = { 0 };
	int r;

	/* The hook that marked the lease has this time to complete the release itself. */
	if (sys_now_ms() - lease->since_ms < (int64_t)policy->release_wait_s * 1000 &&
	    sys_process_lives(lease->writer, lease->writer_start))
		return false;
	r = release_turn(store, policy, lease->vgpu.id, sys_now_ms() + TURN_MS, sys_now_ms() + LOOK_MS, &err);
	if (r == 0) {
		event_log(EVENT_RELEASED, &about, "release: domain %s: released %s", lease->name, lease->vgpu.id);
		return true;
	}
	if ((r == -EBUSY || r == -EAGAIN) && release_has_time(policy, lease))
		return false;
	if (!lease_marks_have(logged, lease))
		event_log(EVENT_DELAYED, &about, "release: domain %s: cannot release %s yet, trying again: %s",
			  lease->name, lease->vgpu.id, err.text);
	lease_marks_add(failed, lease);
	return false;
}

int releases_finish(struct store *store, const struct policy *policy, struct lease_marks *logged, struct err *err)
{
	struct lease_marks failed = { 0 };
	autoleases struct leases leases = { 0 };
	int left = 0, r = lease_list_locked(store, LOCK_MS, &leases, err);

	if (r < 0)
		return r;
	for (size_t i = 0; i < leases.n; i++)
		if (leases.list[i].state == LEASE_RELEASING &&
		    !finish_one(store, policy, &leases.list[i], logged, &failed))
			left++;
	lease_marks_free(logged);
	*logged = failed;
	return left;
}
