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
	BATCH_MS = 60000, /* orphans that are due within this time are removed together */
	FOLLOW_MS = 2000, /* libvirt reads a changed file of mdevctl after a tenth of a second */
};

bool orphan_is_due(const struct gc_item *item)
{
	return !item->leased && item->novas && item->outcome == GC_GOES;
}

/*
 * When the last orphan of a batch is due; 0: no wait is needed. A batch is the orphans that are due within BATCH_MS of
 * the first. It is removed together, because Nova fails if a device disappears while Nova lists the devices.
 */
static int64_t waits_for_more(const struct gc *pass)
{
	int64_t now = sys_now_ms(), first = INT64_MAX, last = 0;

	for (size_t i = 0; i < pass->n; i++)
		if (orphan_is_due(&pass->items[i]) && pass->items[i].fate.due_ms < first)
			first = pass->items[i].fate.due_ms;
	for (size_t i = 0; i < pass->n && first < INT64_MAX; i++) {
		const struct gc_item *item = &pass->items[i];

		if (!item->leased && item->novas && item->outcome == GC_STAYS && item->fate.due_ms > now &&
		    item->fate.due_ms <= first + BATCH_MS && item->fate.due_ms > last)
			last = item->fate.due_ms;
	}
	return last ? last + 1 : 0;
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
 * libvirt notices a removed definition later than a removed device. In between it would list the vGPU as defined but
 * absent, and Nova would fail to spawn an instance with it. So a later pass removes the devices; if Nova picks one of
 * them meanwhile, the hook creates it again.
 */
static bool remove_definitions(struct gc *pass, int64_t end_ms)
{
	bool removed = false;

	for (size_t i = 0; i < pass->n && sys_now_ms() < end_ms; i++) {
		struct gc_item *item = &pass->items[i];

		if (orphan_is_due(item) && item->exists &&
		    mdevctl_defines(pass->world.store->host, item->vgpu.id, item->vgpu.parent))
			removed |= remove_part(pass, item, RELEASE_ITS_DEFINITION);
	}
	return removed;
}

int64_t orphans_remove(struct gc *pass, struct guests *guests)
{
	int64_t end_ms = sys_now_ms() + TURN_MS, again_ms = waits_for_more(pass);

	if (again_ms)
		return again_ms;
	for (size_t i = 0; guests->asks && i < pass->n; i++)
		if (orphan_is_due(&pass->items[i])) {
			guests_keep_named(guests, pass);
			break;
		}
	if (remove_definitions(pass, end_ms))
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
