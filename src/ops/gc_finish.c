/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The second half of a pass: releases what has been judged. */
#include <errno.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/text.h"
#include "device/release.h"
#include "host/libvirt_files.h"
#include "internal.h"
#include "model/event.h"
#include "ops/gc.h"

enum { TURN_MS = 200, LAST_LOOK_MS = 1000 };

static bool is_claimed(const struct gc_item *item)
{
	return item->leased && item->outcome == GC_GOES;
}

/* Marks the leases, so that the driver's time begins for all at once. A lease that has changed meanwhile stays. */
static void claim(struct gc *c, struct gc_item *item)
{
	const struct event_about about = event_of(&item->lease);
	struct err err = { 0 };
	int r;

	if (item->lease.state == LEASE_RESERVED)
		r = release_drop(c->store, c->policy, &item->lease, &err);
	else
		r = release_claim(c->store, &item->lease, release_lock_by(c->policy), &err);
	if (r < 0) {
		item->outcome = GC_FAILED;
		text_cut(item->trouble, sizeof(item->trouble), err.text);
	} else if (r == 0) {
		item->outcome = GC_STAYS;
		text_copy(item->why, sizeof(item->why), "its lease changed in the meantime");
	} else if (item->lease.state == LEASE_RESERVED) {
		item->outcome = GC_GONE;
		event_log(EVENT_RELEASED, &about, "gc: dropped the reservation of %s for domain %s: %s", item->vgpu.id,
			  item->lease.name, item->why);
	}
}

/* What others have left is tried again at the next call, so its failure is not logged. */
static void tell_left(const struct gc_item *item, int r, const struct err *err)
{
	const struct event_about about = event_of(&item->lease);
	const char *id = item->vgpu.id, *name = item->lease.name;

	if (r == 0)
		event_log(EVENT_RELEASED, &about, "release: domain %s: released %s%s%s", name, id,
			  item->own ? "" : ", which was left: ", item->own ? "" : item->why);
	else if (item->own)
		event_log(EVENT_DELAYED, &about, "release: domain %s: %s: not released yet: %s; run 'vgpu-lease gc'",
			  name, id, err->text);
}

static void tell(struct gc *c, struct gc_item *item, int r, const struct err *err)
{
	const struct vgpu_ref *vgpu = &item->vgpu;
	const struct event_about about = { .vgpu = vgpu, .domain = item->lease.domain, .name = item->lease.name };

	item->outcome = r == 0 ? GC_GONE : GC_FAILED;
	if (c->left) {
		tell_left(item, r, err);
	} else if (r < 0) {
		text_cut(item->trouble, sizeof(item->trouble), err->text);
		event_log(EVENT_DELAYED, &about, "gc: %s cannot be released: %s", vgpu->id, err->text);
	} else {
		event_log(EVENT_RECLAIMED, &about, "gc: %s %s, %s on %s: %s",
			  item->removes ? "removed" : "dropped the lease of", vgpu->id, vgpu->type, vgpu->parent,
			  item->why);
	}
}

/* 1: to be tried again. Any error but these is tried once more at the end. */
static int finish_lease(struct gc *c, struct gc_item *item, int64_t deadline_ms, int64_t look_by_ms, bool last)
{
	struct err err = { 0 };
	int r = release_turn(c->store, c->policy, item->vgpu.id, deadline_ms, look_by_ms, &err);

	/* Other processes are waited for as long as a start would wait. */
	if (r == -EAGAIN && sys_now_ms() >= c->wait_by_ms && store_locked(c->store, item->vgpu.pgpu)) {
		r = err_set(&err, ETIMEDOUT, "a write to the driver of %s is under way; see 'vgpu-lease check'",
			    item->vgpu.pgpu);
		last = true;
	}
	if (r == 0 || last)
		tell(c, item, r, &err);
	return r == -EBUSY || r == -EAGAIN;
}

/* Takes short turns, so that a lease whose device stays open, or whose driver hangs, delays no other. */
static void finish_leases(struct gc *c)
{
	int64_t now, end_ms = release_by(c->policy);
	bool *tried = mem_new(c->n + 1, sizeof(*tried));
	bool waits = true;

	while (waits && sys_now_ms() < end_ms) {
		waits = false;
		for (size_t i = 0; i < c->n && (now = sys_now_ms()) < end_ms; i++)
			if (is_claimed(&c->items[i]) && !tried[i]) {
				tried[i] = !finish_lease(c, &c->items[i], now + TURN_MS, end_ms, false);
				waits |= !tried[i];
			}
		if (waits)
			sys_sleep_ms(TURN_MS / 2);
	}
	now = sys_now_ms();
	for (size_t i = 0; i < c->n; i++)
		if (is_claimed(&c->items[i]))
			finish_lease(c, &c->items[i], now, now + LAST_LOOK_MS, true);
	free(tried);
}

static void remove_orphan(struct gc *c, struct gc_item *item)
{
	int64_t deadline_ms = release_lock_by(c->policy) + (int64_t)c->policy->release_timeout_s * 1000;
	struct err err = { 0 };

	tell(c, item,
	     release_orphan(c->store, c->policy, &item->vgpu, item->exists ? RELEASE_DEVICE : RELEASE_LONE_DEFINITION,
			    deadline_ms, &err),
	     &err);
}

/* Reads libvirt's files again, because a domain may have been defined meanwhile: what it names stays. */
static void remove_orphans(struct gc *c)
{
	struct fate_look facts = { .store = c->store, .note = true };
	struct libvirt_files *disk = NULL;
	struct err err = { 0 };

	for (size_t i = 0; i < c->n; i++) {
		struct gc_item *item = &c->items[i];

		if (item->outcome != GC_GOES)
			continue;
		if (!disk && !err.code)
			libvirt_files_read(&disk, c->store->host, &err);
		facts.disk = disk;
		if (!disk)
			text_cut(item->why, sizeof(item->why), err.text);
		if (disk && !fate_named(&facts, item->vgpu.id, item->why))
			remove_orphan(c, item);
		else
			item->outcome = GC_STAYS;
	}
	libvirt_files_free(disk);
}

void gc_finish(struct gc *c)
{
	for (size_t i = 0; i < c->n; i++)
		if (is_claimed(&c->items[i]))
			claim(c, &c->items[i]);
	if (c->mark)
		return;
	c->wait_by_ms = release_lock_by(c->policy);
	finish_leases(c);
	if (!c->left)
		remove_orphans(c);
}
