/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Releases of several vGPUs: which leases a domain gives up, and in what order they are finished. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "device/release.h"
#include "base/mem.h"
#include "host/mdevctl_files.h"
#include "internal.h"
#include "model/event.h"
#include "model/lease.h"

enum { TURN_MS = 200, PAUSE_MS = 50 };

bool release_removes(const struct store *store, const struct lease *lease)
{
	struct owner_facts facts = { .framework = lease->vgpu.framework, .created = lease->origin == LEASE_CREATED };

	if (!facts.created || lease->state == LEASE_RESERVED)
		return false;
	/* mdevctl may have defined the device while it was active. A half-created device is ours to remove. */
	if (lease->state == LEASE_ACTIVE)
		facts.defined = mdevctl_defines_on(store->host, lease->vgpu.id, lease->vgpu.parent);
	return owner_origin(owner_of(&facts)) == LEASE_CREATED;
}

void release_give_up(const struct store *store, struct lease *lease)
{
	lease->origin = release_removes(store, lease) ? LEASE_CREATED : LEASE_ADOPTED;
	lease->state = LEASE_RELEASING;
}

/* Returns 1, or 0 if nothing is left to release. */
static int mark(struct store *store, struct lease *lease, int64_t asked_ms, struct err *err)
{
	const struct event_about about = event_of(lease);

	/* A reservation creates no device, so an existing device is not ours to remove. */
	if (lease->state == LEASE_RESERVED) {
		if (lease_drop(store, lease->vgpu.id, err) < 0)
			return -err->code;
		event_log(EVENT_RELEASED, &about, "release: domain %s: dropped the reservation of %s", lease->name,
			  lease->vgpu.id);
		return 0;
	}
	/* A write would restart the driver's cleanup time, or end a wait that began after `asked_ms`. */
	if (lease->state == LEASE_RELEASING && (!lease->deadline_ms || lease->since_ms > asked_ms))
		return 1;
	lease->deadline_ms = 0;
	release_give_up(store, lease);
	return lease_put(store, lease, err) < 0 ? -err->code : 1;
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
	for (size_t i = 0; i < leases.n; i++) {
		struct lease *lease = &leases.list[i];
		int n;

		if (strcmp(lease->domain, domain) != 0 ||
		    (lease->since_ms > asked_ms && lease->state != LEASE_RELEASING))
			continue;
		n = mark(store, lease, asked_ms, err);
		if (n == 1)
			ids->list[ids->n++] = lease->vgpu;
		else if (n < 0)
			r = n;
	}
	store_unlock(store);
	return r;
}

/* Has the release ended, or must it wait, or has it failed? */
enum turn { TURN_WAITS, TURN_FAILED, TURN_ENDED };

static enum turn take_turn(const struct sweep *sweep, size_t i, int64_t deadline_ms, int64_t look_by_ms, bool last)
{
	struct err err = { 0 };
	int r = release_turn(sweep->store, sweep->policy, sweep->ids.list[i].id, deadline_ms, look_by_ms, &err);

	if (r == 0 || last)
		sweep->told(sweep->arg, i, r, &err);
	return r == 0 ? TURN_ENDED : r == -EBUSY || r == -EAGAIN ? TURN_WAITS : TURN_FAILED;
}

/* Takes a turn for each release that waits, and returns how many still do. */
static size_t take_turns(const struct sweep *sweep, enum turn *turns, int64_t deadline_ms)
{
	size_t n = sweep->ids.n, waiting = 0;
	int64_t now;

	for (size_t i = 0; i < n && (now = sys_now_ms()) < deadline_ms; i++) {
		int64_t by = n > 1 && now + TURN_MS < deadline_ms ? now + TURN_MS : deadline_ms;

		if (turns[i] == TURN_WAITS)
			turns[i] = take_turn(sweep, i, by, deadline_ms, false);
		waiting += turns[i] == TURN_WAITS;
	}
	return waiting;
}

void release_sweep(const struct sweep *sweep, int64_t deadline_ms, int last_look_ms)
{
	enum turn *turns = mem_new(sweep->ids.n + 1, sizeof(*turns));
	int64_t now;

	while (take_turns(sweep, turns, deadline_ms) > 0)
		sys_sleep_ms(PAUSE_MS);
	now = sys_now_ms();
	for (size_t i = 0; last_look_ms && i < sweep->ids.n; i++)
		if (turns[i] != TURN_ENDED)
			take_turn(sweep, i, now, now + last_look_ms, true);
	free(turns);
}
