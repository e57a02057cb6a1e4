/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The operations that release or restore leases: release, unreserve and reconnect. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "device/adopt.h"
#include "ops/leftover.h"
#include "ops/lifecycle.h"
#include "device/release.h"
#include "base/text.h"
#include "sys/log.h"
#include "sys/timed_child.h"
#include "model/event.h"
#include "state/history.h"
#include "plan/resolve.h"

enum { END_MS = 400 };
enum { UNRESERVE_MS = 2000 }; /* for the store's lock, after the operation's own time */

struct release {
	const struct policy *policy;
	const char *domain, *name;
	int64_t asked_ms;       /* when libvirt called; a later lease belongs to a later start */
	struct release_ids ids; /* not released yet; without a list: not marked yet */
	struct store *store;
};

static int mark(struct release *release, struct store *store, int wait_ms, struct err *err)
{
	int r = release_mark(store, release->domain, release->asked_ms, wait_ms, &release->ids, err);

	if (r < 0) {
		free(release->ids.list);
		release->ids = (struct release_ids){ 0 };
	}
	return r;
}

static int finish_one(void *arg, size_t i, int64_t deadline_ms, int64_t look_by_ms, bool last)
{
	struct release *release = arg;
	const struct vgpu_ref *vgpu = &release->ids.list[i];
	const struct event_about about = { .vgpu = vgpu, .domain = release->domain, .name = release->name };
	struct err err = { 0 };
	int r = release_turn(release->store, release->policy, vgpu->id, deadline_ms, look_by_ms, &err);

	if (r == 0)
		event_log(EVENT_RELEASED, &about, "release: domain %s: released %s", release->name, vgpu->id);
	else if (last)
		event_log(EVENT_DELAYED, &about, "release: domain %s: %s: not released yet: %s; run 'vgpu-lease gc'",
			  release->name, vgpu->id, err.text);
	return r;
}

/* libvirt waits, so a release that cannot begin in time is not tried: each would add to the delay. */
static void finish(struct release *release, int64_t deadline_ms)
{
	size_t left = 0;

	for (size_t i = 0; i < release->ids.n; i++)
		if (sys_now_ms() >= deadline_ms || finish_one(release, i, deadline_ms, deadline_ms, false) < 0)
			release->ids.list[left++] = release->ids.list[i];
	release->ids.n = left;
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

		if (strcmp(lease->domain, release->domain) != 0 || lease->since_ms > release->asked_ms)
			continue;
		if (sys_now_ms() >= deadline_ms)
			err_set(&err, EAGAIN, "no time was left for it (release_wait)");
		else if (release_unmarked(store, release->policy, lease, release->asked_ms, deadline_ms, &err) == 0)
			continue;
		event_log(EVENT_DELAYED, &about, "release: domain %s: %s: not released yet: %s; run 'vgpu-lease gc'",
			  release->name, lease->vgpu.id, err.text);
	}
}

/* Have other domains left anything to finish? Read without the lock, so that no other hook is delayed. */
static bool others_left(const struct store *store, const struct policy *policy)
{
	autoleases struct leases leases = { 0 };
	struct err ignored;

	return lease_list(store, &leases, &ignored) == 0 && leftover_any(store, policy, &leases);
}

/* Uses the rest of a release's time in a child that libvirt does not wait for. */
static void finish_detached(const struct release *release, const struct store *store)
{
	const struct host *all = store->host;
	struct host host = { .root = all->root, .libvirt = all->root, .name = all->name };
	const struct policy *policy = release->policy;
	struct release here = *release;
	struct store own;
	struct err err = { 0 };
	int r;

	log_close();
	r = timed_child_detach(host.root, &err);
	if (r < 0)
		log_warn("release: domain %s: its vGPUs are not released yet: %s; run 'vgpu-lease gc'", release->name,
			 err.text);
	if (r <= 0)
		return;
	here.store = &own;
	/* Marks the leases again as this process, so that others see a living writer. */
	if (store_open(&own, &host, true, &err) < 0 || mark(&here, &own, policy->lock_timeout_s * 1000, &err) < 0) {
		log_warn("release: domain %s: its vGPUs are not released yet: %s; run 'vgpu-lease gc'", release->name,
			 err.text);
		log_close();
		_exit(1);
	}
	release_in_turns(here.ids.n, release_by(policy), finish_one, &here);
	log_close();
	_exit(0);
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

		if (strcmp(lease->domain, release->domain) != 0 || lease->state != LEASE_ACTIVE ||
		    lease->origin != LEASE_CREATED ||
		    release->asked_ms - lease->since_ms > (int64_t)release->policy->start_grace_s * 1000)
			continue;
		failure_note(store, lease->vgpu.pgpu, lease->vgpu.type);
		event_log(EVENT_FAILED, &about,
			  "release: domain %s: its start failed with %s on %s, which is tried last for a while",
			  release->name, lease->vgpu.type, lease->vgpu.pgpu);
	}
}

int lifecycle_release(const struct host *host, const struct config *config, const char *domain, const char *name,
		      const char *reason, struct err *err)
{
	const struct policy *policy = &config->policy;
	struct store store;
	struct release release = {
		.policy = policy, .domain = domain, .name = name, .asked_ms = sys_now_ms(), .store = &store
	};
	int64_t deadline = release.asked_ms + (int64_t)policy->release_wait_s * 1000;
	int r = store_open(&store, host, false, err);
	bool left;

	if (r < 0)
		return r;
	/* Without a store nothing was ever leased. */
	if (store.leases >= 0) {
		if (strcmp(reason, "failed") == 0)
			note_failures(&release, &store);
		r = mark(&release, &store, policy->release_wait_s * 1000, err);
		if (r == 0)
			finish(&release, deadline - END_MS);
		if (r == -EROFS)
			remove_unmarked(&release, &store, deadline - END_MS);
		/* The handler completes what is marked, but does not know of what is not. */
		if (r == -ETIMEDOUT || (release.ids.n > 0 && !store_handler_runs(&store)))
			finish_detached(&release, &store);
	}
	left = store.leases >= 0 && others_left(&store, policy);
	free(release.ids.list);
	store_close(&store);
	if (left)
		leftover_finish(host, config, policy);
	return r;
}

int lifecycle_reconnect(const struct lifecycle *lifecycle, struct err *err)
{
	struct inv_query query = { .types = inv_no_types };
	autostore struct store store;
	autoinventory struct inventory inv = { 0 };
	autoleases struct leases leases = { 0 };
	const struct adoption adoption = { &store, &inv, &leases, lifecycle->request, "reconnect" };
	int64_t deadline = sys_now_ms() + (int64_t)lifecycle->policy->lock_timeout_s * 1000;
	int r = store_open(&store, lifecycle->host, true, err);

	if (r < 0)
		return r;
	for (size_t i = 0; i < lifecycle->request->nvgpus; i++)
		query.frameworks |= resolve_frameworks(&lifecycle->request->vgpus[i]);
	query.vf_name = lifecycle->config ? pool_vf_name : NULL;
	query.arg = lifecycle->config;
	silent_recall(&store);
	if (inventory_read(&inv, lifecycle->host, &query, err) < 0 ||
	    store_lock(&store, sys_left_ms(deadline), err) < 0 || lease_list(&store, &leases, err) < 0)
		return -err->code;
	silent_note(&store);
	/* An error with one vGPU does not cost another its lease. */
	for (size_t i = 0; i < lifecycle->request->nvgpus; i++) {
		const char *id = lifecycle->request->vgpus[i].id;
		struct inv_device device;

		if (adopt_find(&device, &inv, id) && adopt_device(&adoption, &device, err) < 0)
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
