/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One pass over everything that can be released without a request from its domain. */
#include "act/gc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "act/release.h"
#include "look/vfio_users.h"
#include "look/inventory.h"
#include "look/libvirt_files.h"
#include "look/mdevctl_files.h"
#include "base/text.h"
#include "model/event.h"
#include "state/history.h"
#include "look/looked.h"

enum {
	LAST_LOOK_MS = 1000, /* the last look at an unfinished release */
	USERS_MS = 60000,    /* limit of the handler's search of all processes; no operation waits for this search */
};

static int read_leases(struct gc *c, struct err *err)
{
	lease_list_free(&c->world.leases);
	return c->dry ? lease_list(c->world.store, &c->world.leases, err)
		      : lease_list_locked(c->world.store, c->world.config->policy.lock_timeout_s * 1000,
					  &c->world.leases, err);
}

/* Reads devices before leases. A lease is written before its device is created, so each device has its lease. */
static int look_around(struct gc *c, struct err *err)
{
	struct inv_query query = { .frameworks = INV_MDEV | INV_VARIANT, .types = inv_no_types };
	struct world *w = &c->world;
	struct err unlisted;

	/* gc_adopt() also leases the plain VFs of domains. */
	if (c->seen) {
		query.frameworks |= INV_VF;
		query.config = w->config;
	}
	if (c->dry && c->inv) {
		w->inv = *c->inv;
		w->inv.arena = NULL; /* the caller frees it */
	} else if (inventory_read(&w->inv, w->store->host, &query, err) < 0) {
		return -err->code;
	}
	/* If libvirt's files cannot be listed, all vGPUs that a domain may name stay. Pending releases continue. */
	w->disk = c->files;
	if (!w->disk)
		libvirt_files_read(&w->disk, w->store->host, &unlisted);
	if (c->seen)
		running_read(&c->running, w->disk);
	if (read_leases(c, err) < 0)
		return -err->code;
	if (w->config->policy.nova)
		mdevctl_definitions(&c->definitions, &c->ndefinitions, w->store->host, NULL, &c->undefined);
	w->users = vfio_users_read(w->store->host,
				   sys_now_ms() +
					   (c->seen ? USERS_MS : (int64_t)w->config->policy.release_timeout_s * 1000));
	vfio_users_unread(w->users, c->unread);
	return 0;
}

static void judge_lease(struct gc *c, const struct lease *lease)
{
	struct gc_item *item = &c->items[c->n++];

	item->leased = true;
	item->vgpu = lease->vgpu;
	item->lease = *lease;
	item->exists = inventory_presence(&c->world.inv, c->world.store->host, &lease->vgpu);
	item->removes = item->exists == PRESENT && lease->vgpu.framework != FW_VF &&
			release_removes(c->world.store, lease);
	fate_lease(&item->fate, &c->look, lease, item->exists);
	item->outcome = item->fate.goes ? GC_GOES : GC_STAYS;
	/* A dry pass does not wait for a process that holds the vGPU's work lock. */
	if (c->dry && lease->state == LEASE_RELEASING && item->outcome == GC_GOES &&
	    store_locked_vgpu(c->world.store, lease->vgpu.id)) {
		item->outcome = GC_STAYS;
		snprintf(item->fate.why, sizeof(item->fate.why), "to be released when a write to the driver of %s ends",
			 lease->vgpu.pgpu);
	}
}

/* Judges a foreign device or, if `device` is NULL, a definition of Nova's. */
static void judge_orphan(struct gc *c, const struct vgpu_ref *vgpu, const struct inv_device *device,
			 const struct definition *definition)
{
	struct gc_item *item = &c->items[c->n++];

	item->fate = (struct fate){ .why = "not created by the hook, and no valid configuration permits its removal" };
	item->vgpu = *vgpu;
	item->exists = device ? PRESENT : ABSENT;
	item->removes = true;
	item->novas = fate_is_novas(&c->look, vgpu);
	/* No device has the node 1, so a device created from the definition counts as newly seen. */
	if (config_is_valid(c->world.config))
		fate_orphan(&item->fate, &c->look, vgpu, device ? device->node : 1, definition);
	else if (!c->dry)
		seen_forget(c->world.store, vgpu->id);
	item->outcome = item->fate.goes ? GC_GOES : GC_STAYS;
}

/* Sets the vGPU of a definition. False: the parent is not on this host. */
static bool name_defined(struct vgpu_ref *vgpu, const struct inventory *inv, const struct definition *definition)
{
	const struct inv_parent *parent = inventory_parent(inv, definition->parent);

	*vgpu = (struct vgpu_ref){ .framework = FW_MDEV };
	if (!parent)
		return false;
	text_copy(vgpu->id, sizeof(vgpu->id), definition->uuid);
	text_copy(vgpu->type, sizeof(vgpu->type), definition->type);
	text_copy(vgpu->parent, sizeof(vgpu->parent), definition->parent);
	text_copy(vgpu->pgpu, sizeof(vgpu->pgpu), parent->card->address);
	return true;
}

/* Is this an mdev of a device other than a GPU? False if it was made for a guest, or has the driver of a pool type. */
static bool is_no_vgpu(const struct gc *c, const struct inv_device *device)
{
	const struct inv_pgpu *card = inventory_card_of(device);

	if (!card || card->gpu || affinity_is_for_guest(c->world.store, device->vgpu.id))
		return false;
	for (size_t i = 0; i < c->world.config->nsections; i++)
		if (type_has_driver_of(c->world.config->sections[i].type, device->vgpu.type))
			return false;
	return true;
}

static void judge(struct gc *c)
{
	const struct inventory *inv = &c->world.inv;
	const struct leases *leases = &c->world.leases;

	c->items = mem_new(leases->n + inv->ndevices + c->ndefinitions + 1, sizeof(*c->items));
	for (size_t i = 0; i < leases->n; i++)
		judge_lease(c, &leases->list[i]);
	for (EACH(const struct inv_device *, device, inv->devices, inv->ndevices)) {
		if (device->vgpu.framework == FW_VF || lease_find(leases, device->vgpu.id) || is_no_vgpu(c, device))
			continue;
		judge_orphan(c, &device->vgpu, device, NULL);
		/* A release may have removed the device, and dropped its lease, between the reads. */
		if (c->items[c->n - 1].outcome == GC_GOES && kernel_exists(c->world.store->host, &device->vgpu) != 1)
			c->n--;
	}
	for (EACH(const struct definition *, definition, c->definitions, c->ndefinitions)) {
		struct vgpu_ref vgpu;

		if (name_defined(&vgpu, inv, definition) && !inventory_device(inv, vgpu.id) &&
		    !lease_find(leases, vgpu.id) && fate_is_novas(&c->look, &vgpu))
			judge_orphan(c, &vgpu, NULL, definition);
	}
}

/* Leases the vGPUs of running domains. Sets `seen` to the leases whose domain has the device. */
static int look_at_domains(struct gc *c, struct err *err)
{
	struct leases seen = { 0 };
	int r = gc_adopt(c, err);

	/* Read the leases again, so that `seen` includes a new lease whose device is unplugged before the next pass. */
	if (r > 0)
		r = read_leases(c, err);
	for (size_t i = 0; r == 0 && i < c->world.leases.n; i++) {
		const struct lease *lease = &c->world.leases.list[i];
		const struct running_domain *domain = running_find(&c->running, lease->domain);

		if (domain && lease->state == LEASE_ACTIVE &&
		    (lease_is_among(c->seen, lease) ||
		     (domain->request && request_find(domain->request, lease->vgpu.id))))
			lease_add(&seen, lease);
	}
	lease_list_free(c->seen);
	*c->seen = seen;
	return r;
}

/* Does a device or definition or, with `named`, a lease or a domain have this ID? True if unknown. */
static bool is_known(const void *arg, const char *id, bool named)
{
	const struct gc *c = arg;
	const struct vgpu_ref vgpu = kernel_vgpu(id);

	if (text_find(c->definitions, c->ndefinitions, sizeof(*c->definitions), id) || c->undefined.code ||
	    inventory_presence(&c->world.inv, c->world.store->host, &vgpu) != ABSENT)
		return true;
	return named && (lease_find(&c->world.leases, id) || libvirt_files_names(c->world.disk, id, NULL) ||
			 libvirt_files_unread(c->world.disk, false));
}

static bool is_complete(const struct inventory *inv)
{
	for (size_t i = 0; i < inv->npgpus; i++)
		if (inv->pgpus[i]->silent)
			return false;
	for (size_t i = 0; i < inv->nparents; i++)
		if (inv->parents[i]->unread)
			return false;
	return true;
}

int gc_judge(struct gc *c, struct err *err)
{
	struct world *w = &c->world;
	int64_t began_ms = sys_now_ms();
	int r;

	if (!w->looked_ms)
		w->looked_ms = began_ms;
	c->look = (struct fate_look){ w, !c->dry, c->unused, c->seen ? &c->running : NULL, c->seen };
	r = look_around(c, err);
	if (w->leases.garbage)
		snprintf(c->garbage, sizeof(c->garbage), "%d invalid file%s in /run/vgpu-lease/leases%s",
			 w->leases.garbage, w->leases.garbage == 1 ? "" : "s",
			 w->leases.aside < w->leases.garbage ? "" : ": moved to /run/vgpu-lease/garbage");
	if (r == 0 && c->seen)
		r = look_at_domains(c, err);
	if (r < 0)
		return r;
	judge(c);
	if (c->dry)
		return 0;
	if (store_lock(w->store, w->config->policy.lock_timeout_s * 1000, err) == 0) {
		types_remember(w->store, &w->inv);
		if (config_is_valid(w->config))
			cards_remember(w->store, w->config);
		if (is_complete(&w->inv))
			looked_note(w->store, &w->inv, began_ms);
		store_unlock(w->store);
	}
	history_tidy(w->store, is_known, c);
	return 0;
}

static void report_outcome(struct gc_item *item, int r, const struct err *err)
{
	const struct vgpu_ref *vgpu = &item->vgpu;
	const struct event_about about = { .vgpu = vgpu, .domain = item->lease.domain, .name = item->lease.name };

	item->outcome = r == RELEASE_TAKEN ? GC_STAYS : r == 0 ? GC_GONE : GC_FAILED;
	if (r == RELEASE_TAKEN) {
		text_copy(item->fate.why, sizeof(item->fate.why), "its lease changed in the meantime");
	} else if (r < 0) {
		text_cut(item->trouble, sizeof(item->trouble), err->text);
		event_log(EVENT_DELAYED, about, "gc: %s cannot be released: %s", vgpu->id, err->text);
	} else {
		event_log(EVENT_RECLAIMED, about, "gc: %s %s, %s on %s: %s",
			  item->removes ? "removed" : "dropped the lease of", vgpu->id, vgpu->type, vgpu->parent,
			  item->fate.why);
	}
}

static bool claim(struct gc *c, struct gc_item *item)
{
	int64_t by_ms = sys_now_ms() + (int64_t)c->world.config->policy.lock_timeout_s * 1000;
	struct err err = { 0 };
	int r = release_claim(c->world.store, &item->lease, by_ms, &err);

	if (r < 0) {
		item->outcome = GC_FAILED;
		text_cut(item->trouble, sizeof(item->trouble), err.text);
	} else if (r != 0) {
		report_outcome(item, r, &err);
	} else if (item->lease.state == LEASE_RESERVED) {
		item->outcome = GC_GONE;
		event_log(EVENT_RELEASED, event_of(&item->lease), "gc: dropped the reservation of %s for domain %s: %s",
			  item->vgpu.id, item->lease.name, item->fate.why);
	}
	return item->outcome == GC_GOES;
}

struct gc_item *gc_find(const struct gc *c, const char *id)
{
	for (size_t i = 0; i < c->n; i++)
		if (strcmp(c->items[i].vgpu.id, id) == 0)
			return &c->items[i];
	return NULL;
}

static void tell_claimed(void *arg, const struct lease *lease, int r, const struct err *err)
{
	report_outcome(gc_find(arg, lease->vgpu.id), r, err);
}

/* Reads libvirt's files again, because a new domain may name a vGPU. */
static void remove_orphans(struct gc *c)
{
	const struct policy *policy = &c->world.config->policy;
	int64_t time_ms = ((int64_t)policy->lock_timeout_s + policy->release_timeout_s) * 1000;
	struct world now = { .store = c->world.store };
	const struct fate_look look = { .world = &now, .note = true };

	for (EACH(struct gc_item *, item, c->items, c->n)) {
		struct err err = { 0 };

		if (item->outcome != GC_GOES)
			continue;
		if (!now.disk)
			libvirt_files_read(&now.disk, now.store->host, &err);
		if (fate_named(&look, item->vgpu.id, NULL, item->fate.why))
			item->outcome = GC_STAYS;
		else
			report_outcome(item,
				       release_orphan(now.store, policy, &item->vgpu,
						      item->exists ? RELEASE_DEVICE : RELEASE_LONE_DEFINITION,
						      sys_now_ms() + time_ms, &err),
				       &err);
	}
	libvirt_files_free(now.disk);
}

void gc_finish(struct gc *c)
{
	struct sweep sweep = { c->world.store, &c->world.config->policy, .told = tell_claimed, .arg = c };

	/* Mark all leases first, so that the driver's time begins for all at once. */
	for (size_t i = 0; !c->dry && i < c->n; i++) {
		struct gc_item *item = &c->items[i];

		if (item->leased && item->outcome == GC_GOES && claim(c, item))
			lease_add(&sweep.leases, &item->lease);
	}
	if (!c->dry && !c->seen) {
		release_sweep(&sweep, sys_now_ms() + policy_release_ms(sweep.policy), LAST_LOOK_MS);
		remove_orphans(c);
	}
	lease_list_free(&sweep.leases);
}

void gc_free(struct gc *c)
{
	free(c->items);
	for (size_t i = 0; i < c->nnotes; i++)
		free(c->notes[i]);
	free(c->notes);
	free(c->definitions);
	running_free(&c->running);
	if (c->files)
		c->world.disk = NULL; /* the caller frees it */
	survey_end(&c->world);
}
