/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* libvirt, as a pass of the device handler uses it; Nova's orphans, which it removes if libvirt does not name them. */
#include "handler/handler.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "act/release.h"
#include "base/mem.h"
#include "base/text.h"
#include "look/mdevctl_files.h"
#include "look/migration_facts.h"
#include "model/event.h"
#include "sys/log.h"

enum {
	REMOVE_MS = 5000, /* a slower removal continues in a child, and the next pass finds its outcome */
	TURN_MS = 5000,   /* for all removals of a pass; they delay no release */
	NEXT_MS = 1000,
	BATCH_MS = 60000,
	FOLLOW_MS = 2000, /* libvirt reads a changed file of mdevctl after a tenth of a second */
};

void guests_set_state(struct guests *g, bool connected, const char *text)
{
	char was[sizeof(g->state)];

	memcpy(was, g->state, sizeof(was));
	text_safe(g->state, sizeof(g->state), text);
	if (strcmp(g->state, was) != 0)
		log_info("%s", text);
	g->connected = connected;
}

static void set_asking(const struct guests *g, bool asking)
{
	if (g->asking_ms)
		*g->asking_ms = asking ? sys_now_ms() : 0;
}

bool guests_connect(struct guests *g)
{
	char text[sizeof(g->state)] = "connected to libvirt";
	struct err err;
	int r;

	if (g->tried || !g->asks)
		return g->virt;
	g->tried = true;
	set_asking(g, true);
	r = virt_open(&g->virt, g->uri, &err);
	set_asking(g, false);
	if (r < 0)
		snprintf(text, sizeof(text), "not connected to libvirt: %.200s", err.text);
	guests_set_state(g, r == 0, text);
	return r == 0;
}

void guests_hang_up(struct guests *g)
{
	virt_close(g->virt);
	g->virt = NULL;
	g->tried = false;
}

/*
 * Is this a device or definition of Nova's whose reclaim_grace is over, and that nothing keeps? Nova counts each as a
 * device, even if its type is not enabled any more, and does not remove it.
 */
static bool is_due(const struct gc_item *item)
{
	return !item->leased && item->novas && item->outcome == GC_GOES;
}

/* Keeps the due orphans that libvirt's XML names; all of them if libvirt does not answer. */
static void keep_named(struct guests *g, struct gc *pass)
{
	autofree char *xml = NULL;
	struct err ignored;
	bool known = guests_connect(g);

	set_asking(g, true);
	known = known && virt_all_xml(g->virt, &xml, &ignored) == 0;
	set_asking(g, false);
	for (EACH(struct gc_item *, item, pass->items, pass->n))
		if (is_due(item) && (!known || strcasestr(xml, item->vgpu.id)))
			item->outcome = GC_STAYS;
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

/* Orphans due within BATCH_MS of the first are removed together: Nova fails if one disappears while it lists them. */
int64_t orphans_remove(struct guests *g, struct gc *pass)
{
	int64_t now = sys_now_ms(), end_ms, first = INT64_MAX, last = 0;
	bool removed = false;

	for (EACH(const struct gc_item *, item, pass->items, pass->n))
		if (is_due(item) && item->fate.due_ms < first)
			first = item->fate.due_ms;
	if (first == INT64_MAX)
		return 0;
	for (EACH(const struct gc_item *, item, pass->items, pass->n))
		if (!item->leased && item->novas && item->outcome == GC_STAYS && item->fate.due_ms > now &&
		    item->fate.due_ms <= first + BATCH_MS && item->fate.due_ms > last)
			last = item->fate.due_ms;
	if (last)
		return last + 1;
	if (g->asks)
		keep_named(g, pass);
	end_ms = sys_now_ms() + TURN_MS;
	/*
	 * libvirt notices a removed definition later than a removed device. In between it would list the vGPU as
	 * defined but absent, and Nova would fail to spawn an instance with it. So a later pass removes the devices;
	 * if Nova picks one of them meanwhile, the hook creates it again.
	 */
	for (EACH(struct gc_item *, item, pass->items, pass->n))
		if (sys_now_ms() < end_ms && is_due(item) && item->exists &&
		    mdevctl_defines(pass->world.store->host, item->vgpu.id, item->vgpu.parent))
			removed |= remove_part(pass, item, RELEASE_ITS_DEFINITION);
	if (removed)
		return sys_now_ms() + FOLLOW_MS;
	for (EACH(struct gc_item *, item, pass->items, pass->n)) {
		if (!is_due(item))
			continue;
		if (sys_now_ms() >= end_ms)
			return sys_now_ms() + NEXT_MS;
		if (remove_part(pass, item, item->exists ? RELEASE_DEVICE : RELEASE_LONE_DEFINITION))
			item->outcome = GC_GONE;
	}
	return 0;
}

static int write_facts(struct guests *g, const struct running_domain *domain, const struct inventory *inv,
		       const struct leases *leases, struct err *err)
{
	autofree char *missing = migration_facts_element(domain->doc, inv, leases);
	int r;

	if (!missing || !guests_connect(g))
		return 0;
	set_asking(g, true);
	r = virt_set_metadata(g->virt, domain->uuid, DOMXML_NS, DOMXML_NS_KEY, missing, VIRT_LIVE, err);
	set_asking(g, false);
	if (r == 0)
		log_info("domain %s: migration facts of its vGPUs written to its metadata", domain->request->name);
	/* A busy or missing domain is not a fault: a later pass tries again. */
	return r == -ENOENT || r == -EBUSY || r == -EPERM ? 0 : r;
}

void guests_tell(struct guests *g, const struct gc *pass)
{
	autoleases struct leases leases = { 0 };
	struct err err, first = { 0 };

	/* Read the leases again, because the pass has changed some. */
	if (lease_list(pass->world.store, &leases, &err) < 0)
		first = err;
	else
		for (size_t i = 0; i < pass->running.n; i++)
			if (pass->running.list[i].settled && pass->running.list[i].doc &&
			    write_facts(g, &pass->running.list[i], &pass->world.inv, &leases, &err) < 0 && !first.code)
				first = err;
	/* Without a connection the fault may last. */
	if (first.code || g->virt)
		fault_say(g->untold, "cannot write migration facts: ", first.text);
}
