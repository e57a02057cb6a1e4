/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Orphans of Nova, and definitions without a device, removed when reclaim_grace is over: Nova counts each as a device,
 * also of a type that is no longer enabled, and never removes one.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "base/mem.h"
#include "daemon/reconcile.h"
#include "device/release.h"
#include "host/mdevctl_files.h"
#include "model/event.h"

enum {
	REMOVE_MS = 5000, /* a removal that takes longer goes on in a child, and the next pass finds what came of it */
	TURN_MS = 5000,   /* for all of a pass, which other releases do not wait for */
	NEXT_MS = 1000,
	FOLLOW_MS = 2000, /* libvirt reads mdevctl's files a tenth of a second after a change of them */
};

static bool is_due(const struct gc_item *item)
{
	return !item->leased && item->novas && item->outcome == GC_GOES;
}

/*
 * libvirt sees a definition go later than a device. Were both to go at once, it would list the vGPU as defined and
 * absent for that time, and a spawn that Nova gives it to fails. So the device goes in a pass of its own: without a
 * definition, Nova uses it as it is, and if it goes before the instance starts, the hook creates it again.
 */
static enum release_part part_of(const struct reconcile *pass, const struct gc_item *item)
{
	if (!item->exists)
		return RELEASE_LONE_DEFINITION;
	return mdevctl_defines(pass->store->host, item->vgpu.id) ? RELEASE_ITS_DEFINITION : RELEASE_DEVICE;
}

static void remove_one(struct reconcile *pass, struct gc_item *item)
{
	const struct vgpu_ref *vgpu = &item->vgpu;
	const struct event_about about = { .vgpu = vgpu };
	enum release_part part = part_of(pass, item);
	struct err err = { 0 };

	if (release_orphan(pass->store, pass->policy, vgpu, part, host_now_ms() + REMOVE_MS, &err) == 0) {
		if (part == RELEASE_ITS_DEFINITION) {
			reconcile_again(pass, host_now_ms() + FOLLOW_MS);
			return;
		}
		item->outcome = GC_GONE;
		event_log(EVENT_RECLAIMED, &about, "reconcile: removed %s, %s on %s: %s", vgpu->id, vgpu->type,
			  vgpu->parent, item->why);
		return;
	}
	item->outcome = GC_FAILED;
	text_safe(item->trouble, sizeof(item->trouble), err.text);
}

void reconcile_orphans(struct reconcile *pass, reconcile_named *named, void *arg)
{
	int64_t end_ms = host_now_ms() + TURN_MS;
	size_t n = 0;
	const char **ids = mem_new(pass->gc.n + 1, sizeof(*ids));
	bool *is_named = mem_new(pass->gc.n + 1, sizeof(*is_named));

	for (size_t i = 0; i < pass->gc.n; i++)
		if (is_due(&pass->gc.items[i]))
			ids[n++] = pass->gc.items[i].vgpu.id;
	if (n && named)
		named(arg, ids, is_named, n);
	n = 0;
	for (size_t i = 0; i < pass->gc.n; i++) {
		struct gc_item *item = &pass->gc.items[i];

		if (!is_due(item))
			continue;
		if (is_named[n++])
			item->outcome = GC_STAYS;
		else if (host_now_ms() < end_ms)
			remove_one(pass, item);
		else
			reconcile_again(pass, host_now_ms() + NEXT_MS);
	}
	free(ids);
	free(is_named);
}
