/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Removes Nova's orphans, and mdevctl definitions without a device. */
#include "handler/handler.h"

#include "base/text.h"
#include "base/mem.h"
#include "act/release.h"
#include "look/mdevctl_files.h"
#include "model/event.h"

enum {
	REMOVE_MS = 5000, /* a slower removal continues in a child, and the next pass finds its outcome */
	TURN_MS = 5000,   /* for all removals of a pass; they delay no release */
	NEXT_MS = 1000,
	BATCH_MS = 60000,
	FOLLOW_MS = 2000, /* libvirt reads a changed file of mdevctl after a tenth of a second */
};

bool orphan_is_due(const struct gc_item *item)
{
	return !item->leased && item->novas && item->outcome == GC_GOES;
}

static bool remove_part(struct gc *pass, struct gc_item *item, enum release_part part)
{
	const struct vgpu_ref *vgpu = &item->vgpu;
	struct err err = { 0 };

	if (release_orphan(pass->world.store, &pass->world.config->policy, vgpu, part, sys_now_ms() + REMOVE_MS, &err) <
	    0) {
		item->outcome = GC_FAILED;
		text_cut(item->trouble, sizeof(item->trouble), err.text);
		return false;
	}
	event_log(EVENT_RECLAIMED, (struct event_about){ .vgpu = vgpu }, "reconcile: removed %s%s, %s on %s: %s",
		  part == RELEASE_DEVICE ? "" : "the mdevctl definition of ", vgpu->id, vgpu->type, vgpu->parent,
		  item->fate.why);
	return true;
}

/*
 * Orphans that are due within BATCH_MS of the first are removed together, because Nova fails if a device disappears
 * while Nova lists the devices.
 */
int64_t orphans_remove(struct gc *pass, struct guests *guests)
{
	int64_t now = sys_now_ms(), end_ms = now + TURN_MS, first = INT64_MAX, last = 0;
	bool removed = false;

	for (EACH(const struct gc_item *, item, pass->items, pass->n))
		if (orphan_is_due(item) && item->fate.due_ms < first)
			first = item->fate.due_ms;
	if (first == INT64_MAX)
		return 0;
	for (EACH(const struct gc_item *, item, pass->items, pass->n))
		if (!item->leased && item->novas && item->outcome == GC_STAYS && item->fate.due_ms > now &&
		    item->fate.due_ms <= first + BATCH_MS && item->fate.due_ms > last)
			last = item->fate.due_ms;
	if (last)
		return last + 1;
	if (guests->asks)
		guests_keep_named(guests, pass);
	/*
	 * libvirt notices a removed definition later than a removed device. In between it would list the vGPU as
	 * defined but absent, and Nova would fail to spawn an instance with it. So a later pass removes the devices;
	 * if Nova picks one of them meanwhile, the hook creates it again.
	 */
	for (EACH(struct gc_item *, item, pass->items, pass->n))
		if (sys_now_ms() < end_ms && orphan_is_due(item) && item->exists &&
		    mdevctl_defines(pass->world.store->host, item->vgpu.id, item->vgpu.parent))
			removed |= remove_part(pass, item, RELEASE_ITS_DEFINITION);
	if (removed)
		return sys_now_ms() + FOLLOW_MS;
	for (EACH(struct gc_item *, item, pass->items, pass->n)) {
		if (!orphan_is_due(item))
			continue;
		if (sys_now_ms() >= end_ms)
			return sys_now_ms() + NEXT_MS;
		if (remove_part(pass, item, item->exists ? RELEASE_DEVICE : RELEASE_LONE_DEFINITION))
			item->outcome = GC_GONE;
	}
	return 0;
}
