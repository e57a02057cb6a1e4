/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Releases of several vGPUs: the end of a domain, and the order in which releases are finished. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "act/release.h"
#include "base/mem.h"
#include "look/mdevctl_files.h"
#include "internal.h"
#include "model/event.h"
#include "state/history.h"

enum { TURN_MS = 200, PAUSE_MS = 50 };

/* At a domain's end, all waits end END_MS before `release_wait` is over. The last look may take LAST_MS. */
enum { END_MS = 400, LAST_MS = 200 };

bool release_removes(const struct store *store, const struct lease *lease)
{
	struct owner_facts facts = { .framework = lease->vgpu.framework, .created = lease->origin == LEASE_CREATED };

	if (!facts.created || lease->state == LEASE_RESERVED)
		return false;
	/* mdevctl may have defined an active device. Ignore the definition of a half-created device. */
	if (lease->state == LEASE_ACTIVE)
		facts.defined = mdevctl_defines_on(store->host, lease->vgpu.id, lease->vgpu.parent);
	return owner_origin(owner_of(&facts)) == LEASE_CREATED;
}

void release_mark_lease(const struct store *store, struct lease *lease)
{
	lease->origin = release_removes(store, lease) ? LEASE_CREATED : LEASE_ADOPTED;
	lease->state = LEASE_RELEASING;
}

int release_give_up(const struct store *store, struct lease *lease, struct err *err)
{
	/* A reservation has created no device, so no device must be removed. */
	if (lease->state == LEASE_RESERVED)
		return lease_drop(store, lease->vgpu.id, err);
	release_mark_lease(store, lease);
	return lease_put(store, lease, err);
}

/* Returns 1, or 0 if the lease was a reservation, which is dropped. */
static int mark_releasing(struct store *store, struct lease *lease, int64_t asked_ms, struct err *err)
{
	const struct event_about about = event_of(lease);
	bool reserved = lease->state == LEASE_RESERVED;

	/* A write would restart the wait for the driver's clean-up, or end a delay that began after `asked_ms`. */
	if (lease->state == LEASE_RELEASING && (!lease->deadline_ms || lease->since_ms > asked_ms))
		return 1;
	lease->deadline_ms = 0;
	if (release_give_up(store, lease, err) < 0)
		return -err->code;
	if (reserved)
		event_log(EVENT_RELEASED, &about, "release: domain %s: dropped the reservation of %s", lease->name,
			  lease->vgpu.id);
	return !reserved;
}

int release_mark(struct store *store, const char *domain, int64_t asked_ms, int wait_ms, struct leases *marked,
		 struct err *err)
{
	autoleases struct leases leases = { 0 };
	int r = store_lock(store, wait_ms, err);

	*marked = (struct leases){ 0 };
	if (r < 0)
		return r;
	r = lease_list(store, &leases, err);
	for (EACH(struct lease *, lease, leases.list, leases.n)) {
		int n;

		if (strcmp(lease->domain, domain) != 0 ||
		    (lease->since_ms > asked_ms && lease->state != LEASE_RELEASING))
			continue;
		n = mark_releasing(store, lease, asked_ms, err);
		if (n == 1)
			*(struct lease *)mem_add(&marked->list, &marked->n, sizeof(*lease)) = *lease;
		else if (n < 0)
			r = n;
	}
	store_unlock(store);
	return r;
}

static bool waits(int r)
{
	return r == -EBUSY || r == -EAGAIN;
}

static int take_turn(const struct sweep *sweep, size_t i, int64_t deadline_ms, int64_t look_by_ms, bool last)
{
	const struct lease *lease = &sweep->leases.list[i];
	struct err err = { 0 };
	int r = release_finish(sweep->store, sweep->policy, lease->vgpu.id, deadline_ms, look_by_ms, &err);

	if (r >= 0 || last)
		sweep->told(sweep->arg, lease, r, &err);
	return r;
}

/* Tries each waiting release once. Returns the number of releases that still wait; 0 also at the deadline. */
static size_t take_turns(const struct sweep *sweep, int *results, int64_t deadline_ms)
{
	size_t n = sweep->leases.n, waiting = 0;
	int64_t now;

	for (size_t i = 0; i < n && (now = sys_now_ms()) < deadline_ms; i++) {
		int64_t by = n > 1 && now + TURN_MS < deadline_ms ? now + TURN_MS : deadline_ms;

		if (waits(results[i]))
			results[i] = take_turn(sweep, i, by, deadline_ms, false);
		waiting += waits(results[i]);
	}
	return waiting;
}

void release_sweep(const struct sweep *sweep, int64_t deadline_ms, int last_look_ms)
{
	int *results = mem_new(sweep->leases.n + 1, sizeof(*results));
	int64_t now;

	for (size_t i = 0; i < sweep->leases.n; i++)
		results[i] = -EAGAIN;
	while (take_turns(sweep, results, deadline_ms) > 0)
		sys_sleep_ms(PAUSE_MS);
	now = sys_now_ms();
	for (size_t i = 0; last_look_ms && i < sweep->leases.n; i++)
		if (results[i] < 0)
			take_turn(sweep, i, now, now + last_look_ms, true);
	free(results);
}

static void log_release(void *arg, const struct lease *lease, int r, const struct err *err)
{
	const struct event_about about = event_of(lease);

	(void)arg;
	if (r == 0)
		event_log(EVENT_RELEASED, &about, "release: domain %s: released %s", lease->name, lease->vgpu.id);
	else if (r < 0)
		event_log(EVENT_DELAYED, &about, "release: domain %s: %s: not released yet: %s; run 'vgpu-lease gc'",
			  lease->name, lease->vgpu.id, err->text);
}

/*
 * Records a failure of each pGPU on which the failed start created a vGPU, so that later starts try the pGPU last.
 * libvirt reports failed starts since 10.5. Reads the leases without a lock, because the record is only advice.
 */
static void note_failures(const struct store *store, const struct policy *policy, const char *domain, int64_t asked_ms)
{
	autoleases struct leases leases = { 0 };
	struct err ignored;

	if (lease_list(store, &leases, &ignored) < 0)
		return;
	for (EACH(const struct lease *, lease, leases.list, leases.n)) {
		const struct event_about about = event_of(lease);

		if (strcmp(lease->domain, domain) != 0 || lease->state != LEASE_ACTIVE ||
		    lease->origin != LEASE_CREATED ||
		    asked_ms - lease->since_ms > (int64_t)policy->start_grace_s * 1000)
			continue;
		failure_note(store, lease->vgpu.pgpu, lease->vgpu.type);
		event_log(EVENT_FAILED, &about,
			  "release: domain %s: its start failed with %s on %s, which is tried last for a while",
			  lease->name, lease->vgpu.type, lease->vgpu.pgpu);
	}
}

int lifecycle_release(const struct host *host, const struct config *config, const char *domain, const char *reason,
		      struct err *err)
{
	autostore struct store store;
	struct sweep sweep = { .store = &store, .policy = &config->policy, .told = log_release };
	int64_t asked_ms = sys_now_ms();
	int wait_ms = sweep.policy->release_wait_s * 1000;
	int r = store_open(&store, host, false, err);
	bool handled;

	/* Without a store, no vGPU was ever leased. */
	if (r < 0 || store.leases < 0)
		return r;
	if (strcmp(reason, "failed") == 0)
		note_failures(&store, sweep.policy, domain, asked_ms);
	/* Ignore an error here: a later pass or start notices that the domain has ended. */
	r = release_mark(&store, domain, asked_ms, wait_ms, &sweep.leases, err);
	/* The handler finishes and reports releases. Without a handler, report unfinished releases here. */
	handled = store_locked(&store, STORE_HANDLER);
	if (wait_ms)
		release_sweep(&sweep, asked_ms + wait_ms - END_MS, handled ? 0 : LAST_MS);
	else if (!handled)
		for (size_t i = 0; i < sweep.leases.n; i++)
			log_release(NULL, &sweep.leases.list[i], -EAGAIN, &(struct err){ .text = "release_wait is 0" });
	lease_list_free(&sweep.leases);
	return r;
}
