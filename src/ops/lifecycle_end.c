/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The operations that release or restore leases: release, unreserve and reconnect. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "device/adopt.h"
#include "ops/leftover.h"
#include "ops/lifecycle.h"
#include "device/release.h"
#include "base/text.h"
#include "model/event.h"
#include "state/history.h"
#include "plan/resolve.h"

enum { END_MS = 400 };
enum { UNRESERVE_MS = 2000 }; /* for the store's lock, after the operation's own time */

struct release {
	const struct policy *policy;
	struct store *store;
	struct leftover_own own; /* a lease after own.asked_ms belongs to a later start */
};

/* libvirt waits, so a release that cannot begin in time is not tried: each would add to the delay. */
static bool finish(const struct release *release, const struct release_ids *ids, int64_t deadline_ms)
{
	bool all = true;

	for (size_t i = 0; i < ids->n; i++) {
		const struct vgpu_ref *vgpu = &ids->list[i];
		const struct event_about about = { .vgpu = vgpu,
						   .domain = release->own.domain,
						   .name = release->own.name };
		struct err ignored;

		if (sys_now_ms() < deadline_ms &&
		    release_finish(release->store, release->policy, vgpu->id, deadline_ms, &ignored) == 0)
			event_log(EVENT_RELEASED, &about, "release: domain %s: released %s", release->own.name,
				  vgpu->id);
		else
			all = false;
	}
	return all;
}

/*
 * If the leases cannot be written, removes what it can within the hook's own time, because a later call could not tell
 * this release from a new start of the domain.
 */
static void remove_unmarked(const struct release *release, struct store *store, int64_t deadline_ms)
{
	autoleases struct leases leases = { 0 };
	struct err err = { 0 };

	if (lease_list(store, &leases, &err) < 0)
		return;
	for (size_t i = 0; i < leases.n; i++) {
		const struct lease *lease = &leases.list[i];
		const struct event_about about = event_of(lease);

		if (strcmp(lease->domain, release->own.domain) != 0 || lease->since_ms > release->own.asked_ms)
			continue;
		if (sys_now_ms() >= deadline_ms)
			err_set(&err, EAGAIN, "no time was left for it (release_wait)");
		else if (release_unmarked(store, release->policy, lease, release->own.asked_ms, deadline_ms, &err) == 0)
			continue;
		event_log(EVENT_DELAYED, &about, "release: domain %s: %s: not released yet: %s; run 'vgpu-lease gc'",
			  release->own.name, lease->vgpu.id, err.text);
	}
}

/* Have other domains left anything to finish? Read without the lock, so that no other hook is delayed. */
static bool others_left(const struct store *store, const struct policy *policy)
{
	autoleases struct leases leases = { 0 };
	struct err ignored;

	return lease_list(store, &leases, &ignored) == 0 && leftover_any(store, policy, &leases);
}

/*
 * Records that QEMU did not start with these vGPUs (libvirt 10.5 and later report that). The card may be the cause; if
 * not, trying it last does no harm. Read without the lock, because this is only advice.
 */
static void note_failures(const struct release *release, const struct store *store)
{
	autoleases struct leases leases = { 0 };
	struct err ignored;

	if (lease_list(store, &leases, &ignored) < 0)
		return;
	for (size_t i = 0; i < leases.n; i++) {
		const struct lease *lease = &leases.list[i];
		const struct event_about about = event_of(lease);

		if (strcmp(lease->domain, release->own.domain) != 0 || lease->state != LEASE_ACTIVE ||
		    lease->origin != LEASE_CREATED ||
		    release->own.asked_ms - lease->since_ms > (int64_t)release->policy->start_grace_s * 1000)
			continue;
		failure_note(store, lease->vgpu.pgpu, lease->vgpu.type);
		event_log(EVENT_FAILED, &about,
			  "release: domain %s: its start failed with %s on %s, which is tried last for a while",
			  release->own.name, lease->vgpu.type, lease->vgpu.pgpu);
	}
}

int lifecycle_release(const struct host *host, const struct config *config, const char *domain, const char *name,
		      const char *reason, struct err *err)
{
	const struct policy *policy = &config->policy;
	struct store store;
	const struct release release = { policy, &store, { domain, name, sys_now_ms() } };
	int64_t deadline = release.own.asked_ms + (int64_t)policy->release_wait_s * 1000;
	struct release_ids ids;
	bool behind, left;
	int r = store_open(&store, host, false, err);

	/* Without a store nothing was ever leased. */
	if (r < 0 || store.leases < 0) {
		store_close(&store);
		return r;
	}
	if (strcmp(reason, "failed") == 0)
		note_failures(&release, &store);
	r = release_mark(&store, domain, release.own.asked_ms, policy->release_wait_s * 1000, &ids, err);
	/* The handler completes what is marked, but does not know of what is not. */
	behind = r == -ETIMEDOUT ||
		 (r == 0 && !finish(&release, &ids, deadline - END_MS) && !store_handler_runs(&store));
	if (r == -EROFS)
		remove_unmarked(&release, &store, deadline - END_MS);
	left = others_left(&store, policy);
	free(ids.list);
	store_close(&store);
	if (behind || left)
		leftover_finish(host, config, policy, behind ? &release.own : NULL);
	return r;
}

int lifecycle_reconnect(const struct lifecycle *lifecycle, struct err *err)
{
	struct inv_query query = { .types = inv_no_types };
	autostore struct store store;
	autoinventory struct inventory inv = { 0 };
	const struct adoption adoption = { &store, &inv, lifecycle->request, "reconnect" };
	int64_t deadline = sys_now_ms() + (int64_t)lifecycle->policy->lock_timeout_s * 1000;
	int r = store_open(&store, lifecycle->host, true, err);

	if (r < 0)
		return r;
	for (size_t i = 0; i < lifecycle->request->nvgpus; i++)
		query.frameworks |= resolve_frameworks(&lifecycle->request->vgpus[i]);
	query.name = pool_name;
	query.arg = lifecycle->config;
	silent_recall(&store);
	if (inventory_read(&inv, lifecycle->host, &query, err) < 0 ||
	    store_lock(&store, sys_left_ms(deadline), err) < 0)
		return -err->code;
	silent_note(&store);
	/* An error with one vGPU does not cost another its lease. */
	for (size_t i = 0; i < lifecycle->request->nvgpus; i++) {
		const char *id = lifecycle->request->vgpus[i].id;
		struct inv_device device;
		struct lease there;
		int n;

		if (!adopt_find(&device, &inv, id))
			continue;
		n = lease_get(&store, id, &there, err);
		if (n < 0 || adopt_device(&adoption, &device, n == 1 ? &there : NULL, err) < 0)
			r = -err->code;
	}
	return r;
}

void lifecycle_unreserve(const struct lifecycle *lifecycle)
{
	autostore struct store store;
	autoleases struct leases leases = { 0 };
	struct err err;

	if (store_open(&store, lifecycle->host, false, &err) < 0 || store_lock(&store, UNRESERVE_MS, &err) < 0 ||
	    lease_list(&store, &leases, &err) < 0)
		return;
	for (size_t i = 0; i < leases.n; i++)
		if (strcmp(leases.list[i].domain, lifecycle->request->uuid) == 0 &&
		    leases.list[i].state == LEASE_RESERVED)
			lease_drop(&store, leases.list[i].vgpu.id, &err);
}
