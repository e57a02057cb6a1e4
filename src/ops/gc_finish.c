/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The second half of a pass: releases what has been judged. */
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "device/release.h"
#include "host/libvirt_files.h"
#include "model/event.h"
#include "ops/gc.h"

enum { LAST_LOOK_MS = 1000 };

static bool is_claimed(const struct gc_item *item)
{
	return item->leased && item->outcome == GC_GOES;
}

/* Marks a lease. All are marked first, so that the driver's time begins for all at once. A changed lease stays. */
static void claim(struct gc *c, struct gc_item *item)
{
	const struct event_about about = event_of(&item->lease);
	struct err err = { 0 };
	int r = release_claim(c->store, &item->lease, release_lock_by(c->policy), &err);

	if (r < 0) {
		item->outcome = GC_FAILED;
		text_cut(item->trouble, sizeof(item->trouble), err.text);
	} else if (r == 0) {
		item->outcome = GC_STAYS;
		text_copy(item->fate.why, sizeof(item->fate.why), "its lease changed in the meantime");
	} else if (item->lease.state == LEASE_RESERVED) {
		item->outcome = GC_GONE;
		event_log(EVENT_RELEASED, &about, "gc: dropped the reservation of %s for domain %s: %s", item->vgpu.id,
			  item->lease.name, item->fate.why);
	}
}

static void tell(struct gc_item *item, int r, const struct err *err)
{
	const struct vgpu_ref *vgpu = &item->vgpu;
	const struct event_about about = { .vgpu = vgpu, .domain = item->lease.domain, .name = item->lease.name };

	item->outcome = r == 0 ? GC_GONE : GC_FAILED;
	if (r < 0) {
		text_cut(item->trouble, sizeof(item->trouble), err->text);
		event_log(EVENT_DELAYED, &about, "gc: %s cannot be released: %s", vgpu->id, err->text);
	} else {
		event_log(EVENT_RECLAIMED, &about, "gc: %s %s, %s on %s: %s",
			  item->removes ? "removed" : "dropped the lease of", vgpu->id, vgpu->type, vgpu->parent,
			  item->fate.why);
	}
}

static void tell_claimed(void *arg, const struct lease *lease, int r, const struct err *err)
{
	struct gc *c = arg;

	for (size_t i = 0; i < c->n; i++)
		if (is_claimed(&c->items[i]) && strcmp(c->items[i].vgpu.id, lease->vgpu.id) == 0) {
			tell(&c->items[i], r, err);
			return;
		}
}

static void finish_leases(struct gc *c)
{
	struct sweep sweep = { c->store, c->policy, .told = tell_claimed, .arg = c };

	for (size_t i = 0; i < c->n; i++)
		if (is_claimed(&c->items[i]))
			*(struct lease *)mem_add(&sweep.leases.list, &sweep.leases.n,
						 sizeof(struct lease)) = c->items[i].lease;
	release_sweep(&sweep, release_by(c->policy), LAST_LOOK_MS);
	lease_list_free(&sweep.leases);
}

static void remove_orphan(struct gc *c, struct gc_item *item)
{
	int64_t deadline_ms = release_lock_by(c->policy) + (int64_t)c->policy->release_timeout_s * 1000;
	struct err err = { 0 };

	tell(item,
	     release_orphan(c->store, c->policy, &item->vgpu, item->exists ? RELEASE_DEVICE : RELEASE_LONE_DEFINITION,
			    deadline_ms, &err),
	     &err);
}

/* Reads libvirt's files again, because a domain may have been defined meanwhile. What a domain names stays. */
static void remove_orphans(struct gc *c)
{
	struct fate_look facts = { .store = c->store, .note = true };
	struct libvirt_files *disk = NULL;
	struct err unlisted;

	for (size_t i = 0; i < c->n; i++) {
		struct gc_item *item = &c->items[i];

		if (item->outcome != GC_GOES)
			continue;
		if (!disk)
			libvirt_files_read(&disk, c->store->host, &unlisted);
		facts.disk = disk;
		if (!fate_named(&facts, item->vgpu.id, NULL, item->fate.why))
			remove_orphan(c, item);
		else
			item->outcome = GC_STAYS;
	}
	libvirt_files_free(disk);
}

void gc_finish(struct gc *c)
{
	for (size_t i = 0; !c->dry && i < c->n; i++)
		if (is_claimed(&c->items[i]))
			claim(c, &c->items[i]);
	if (c->dry || c->seen)
		return;
	finish_leases(c);
	remove_orphans(c);
}
