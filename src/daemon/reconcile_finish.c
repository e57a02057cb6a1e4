/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Releases that a hook or a pass has marked: each in a short turn, so that one that is stuck delays no other.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "device/release.h"
#include "model/event.h"
#include "daemon/reconcile.h"
#include "internal.h"

enum { TURN_MS = 20, LOOK_MS = 60000 };

int reconcile_leases(struct store *store, const struct policy *policy, struct leases *leases, struct err *err)
{
	int r = store_lock(store, policy->lock_timeout_s * 1000, err);

	if (r == 0)
		r = lease_list(store, leases, err);
	store_unlock(store);
	return r;
}

bool lease_marks_have(const struct lease_marks *marks, const struct lease *lease)
{
	for (size_t i = 0; i < marks->n; i++)
		if (marks->list[i].since_ms == lease->since_ms && strcmp(marks->list[i].id, lease->vgpu.id) == 0)
			return true;
	return false;
}

int lease_marks_add(struct lease_marks *marks, const struct lease *lease, struct err *err)
{
	struct lease_mark *grown = reallocarray(marks->list, marks->n + 1, sizeof(*grown));

	if (!grown)
		return err_sys(err, ENOMEM, "leases");
	marks->list = grown;
	grown[marks->n].since_ms = lease->since_ms;
	memcpy(grown[marks->n++].id, lease->vgpu.id, ID_SIZE);
	return 0;
}

void lease_marks_free(struct lease_marks *marks)
{
	free(marks->list);
	*marks = (struct lease_marks){ 0 };
}

/* For a while it is as it should be that a device is open, that its driver is at it, or whoever marked the lease. */
static bool has_time(const struct policy *policy, const struct lease *lease)
{
	int64_t time_ms = (int64_t)(policy->release_timeout_s + policy->driver_cleanup_s) * 1000;

	return host_now_ms() - lease->since_ms < time_ms;
}

/* One turn; 1 where it is done. */
static int finish_one(struct store *store, const struct policy *policy, const struct lease *lease,
		      const struct lease_marks *logged, struct lease_marks *failed, struct err *err)
{
	const struct event_about about = event_of(lease);
	struct err own = { 0 };
	int r;

	/* A hook or a command that has marked it finishes it itself, where that can be done at once. */
	if (has_time(policy, lease) && host_process_lives(lease->writer, lease->writer_start))
		return 0;
	r = release_turn(store, policy, lease->vgpu.id, host_now_ms() + TURN_MS, host_now_ms() + LOOK_MS, &own);
	if (r == 0) {
		event_log(EVENT_RELEASED, &about, "release: domain %s: released %s", lease->name, lease->vgpu.id);
		return 1;
	}
	if ((r == -EBUSY || r == -EAGAIN) && has_time(policy, lease))
		return 0;
	if (!lease_marks_have(logged, lease))
		event_log(EVENT_DELAYED, &about, "release: domain %s: cannot release %s yet, trying again: %s",
			  lease->name, lease->vgpu.id, own.text);
	return lease_marks_add(failed, lease, err);
}

int reconcile_finish(struct store *store, const struct policy *policy, struct lease_marks *logged, struct err *err)
{
	struct lease_marks failed = { 0 };
	struct leases leases = { 0 };
	int left = 0, r = reconcile_leases(store, policy, &leases, err);

	for (size_t i = 0; r >= 0 && i < leases.n; i++) {
		if (leases.list[i].state != LEASE_RELEASING)
			continue;
		r = finish_one(store, policy, &leases.list[i], logged, &failed, err);
		left += r == 0;
	}
	lease_list_free(&leases);
	lease_marks_free(r < 0 ? &failed : logged);
	if (r < 0)
		return r;
	*logged = failed;
	return left;
}
