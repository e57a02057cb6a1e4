/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Collects the facts on which the fate of a vGPU depends, and marks what a plan may remove. */
#include "act/fate_facts.h"

#include <stdio.h>
#include <string.h>

#include "domain/domxml.h"
#include "base/mem.h"
#include "act/release.h"
#include "look/looked.h"
#include "sys/log.h"

/* As vfio_users_open(), with `why` unless it is closed. */
static int is_open(const struct fate_look *look, const char *id, char why[REASON_SIZE])
{
	struct err err;
	pid_t pid = 0;
	int r = vfio_users_open(look->world->users, look->world->store->host, id, &pid, &err);

	if (r == 1)
		snprintf(why, REASON_SIZE, "process %d has it open", (int)pid);
	else if (r < 0)
		snprintf(why, REASON_SIZE, "%.240s", err.text);
	return r;
}

/* Does a libvirt file name the vGPU? True if unknown, or for a VF if there is a suspend record (other spelling). */
static bool files_have(const struct libvirt_files *disk, const struct lease *lease)
{
	const struct vgpu_ref *vgpu = &lease->vgpu;

	return !libvirt_files_runs(disk, lease->domain) || libvirt_files_unread(disk, false) ||
	       libvirt_files_names(disk, vgpu->id, NULL) ||
	       (vgpu->framework != FW_MDEV && libvirt_files_mention(disk, DOMXML_SUSPENDED_NS, false));
}

static void add_domain(struct lease_facts *facts, const struct fate_look *look)
{
	const struct lease *lease = facts->lease;
	const struct running_domain *domain = running_find(look->running, lease->domain);

	facts->runs = domain || libvirt_files_runs(look->world->disk, lease->domain);
	if (domain && domain->request)
		facts->has = !domain->settled || request_find(domain->request, lease->vgpu.id) ||
			     (domain->taken && request_find(domain->taken, lease->vgpu.id));
	else
		facts->has = facts->runs && files_have(look->world->disk, lease);
	if (!facts->runs)
		facts->unread = libvirt_files_unread(look->world->disk, true);
	facts->had = look->seen && lease_is_among(look->seen, lease);
}

void fate_lease(struct fate *fate, const struct fate_look *look, const struct lease *lease, enum presence exists)
{
	const struct vgpu_ref *vgpu = &lease->vgpu;
	const struct inv_pgpu *card = inventory_pgpu(&look->world->inv, vgpu->pgpu);
	char open[REASON_SIZE];
	struct lease_facts facts = { .lease = lease,
				     .policy = &look->world->config->policy,
				     .now_ms = sys_now_ms(),
				     .looked_ms = look->world->looked_ms,
				     .exists = exists,
				     .unseen = card ? card->reason : "" };

	if (lease->state == LEASE_CREATING || lease->state == LEASE_ACTIVE) {
		add_domain(&facts, look);
		facts.at_work = !facts.has && store_locked_vgpu(look->world->store, lease->vgpu.id);
	}
	/* Skip the search of open files for a reservation, and for a lease whose running domain has the device. */
	if (lease->state != LEASE_RESERVED && facts.exists && !(facts.has && look->running) &&
	    is_open(look, vgpu->id, open))
		facts.open = open;
	fate_of_lease(fate, &facts);
}

bool fate_is_novas(const struct fate_look *look, const struct vgpu_ref *vgpu)
{
	struct owner_facts facts = { .framework = vgpu->framework };
	const struct config *config = look->world->config;
	const struct inv_parent *parent = config->policy.nova ? inventory_parent(&look->world->inv, vgpu->parent)
							      : NULL;

	/* Nova counts no device on a parent that is not registered. */
	if (!parent)
		return false;
	facts.nova = pool_names(config, parent->card, vgpu->parent);
	/* A section without addresses and matches claims all remaining cards of the type's driver. */
	for (size_t i = 0; i < config->nsections; i++)
		facts.nova |= config_takes_rest(&config->sections[i]) &&
			      type_has_driver_of(config->sections[i].type, vgpu->type);
	return owner_of(&facts) == OWNER_NOVA;
}

const char *fate_named(const struct fate_look *look, const char *id, const char *but, char why[REASON_SIZE])
{
	const char *domain = libvirt_files_names(look->world->disk, id, but);
	const char *unread = libvirt_files_unread(look->world->disk, false);

	if (domain && look->note)
		seen_forget(look->world->store, id);
	if (domain)
		snprintf(why, REASON_SIZE, "domain %.100s names it", domain);
	else if (unread)
		snprintf(why, REASON_SIZE, "cannot tell whether a domain names it: %.180s", unread);
	return domain || unread ? why : NULL;
}

/* Sets facts->defined, and facts->kept if mdevctl keeps the device or if its definition cannot be read. */
static void add_definition(struct orphan_facts *facts, const struct fate_look *look, const struct vgpu_ref *vgpu,
			   char why[REASON_SIZE])
{
	const struct host *host = look->world->store->host;
	struct definition definition;
	struct err err;
	int r = mdevctl_definition(&definition, host, vgpu->id, &err);

	facts->defined = vgpu->framework == FW_MDEV && mdevctl_defines(host, vgpu->id, vgpu->parent);
	if (r < 0)
		snprintf(why, REASON_SIZE, "%.200s", err.text);
	else if (r == 1 && definition.starts && !facts->nova)
		snprintf(why, REASON_SIZE, "mdevctl starts it at boot (/etc/mdevctl.d/%s)", definition.parent);
	if (*why)
		facts->kept = why;
}

void fate_orphan(struct fate *fate, const struct fate_look *look, const struct vgpu_ref *vgpu, uint64_t node,
		 const struct definition *alone)
{
	const struct world *w = look->world;
	const struct store *store = w->store;
	const char *id = vgpu->id;
	struct orphan_facts facts = { .policy = &w->config->policy,
				      .alone = alone,
				      .typed = *vgpu->type,
				      .nova = fate_is_novas(look, vgpu),
				      .unused = look->unused,
				      .definition_ms = alone ? alone->created_ms : 0 };
	char by[REASON_SIZE], open[REASON_SIZE], why[REASON_SIZE] = "";
	/* The requesting domain's own XML keeps no variant VF. */
	const char *but = vgpu->framework == FW_VARIANT && w->request ? w->request->name : NULL;
	bool judged = (alone || w->config->policy.reclaim_orphans || w->wide) && facts.typed;
	int r = 0;

	/* Nothing records its use until it is judged again. */
	if (!judged && look->note)
		seen_forget(store, id);
	facts.named = judged ? fate_named(look, id, but, by) : NULL;
	if (judged && !facts.named && !alone) {
		r = is_open(look, id, open);
		facts.open = r ? open : NULL;
		if (r == 1 && look->note)
			seen_used(store, id);
		if (!facts.open)
			add_definition(&facts, look, vgpu, why);
	}
	if (judged && !facts.named && !facts.open && !facts.kept) {
		facts.for_guest = affinity_is_for_guest(store, id);
		if ((facts.for_guest || look->unused || w->wide) && libvirt_files_saved(w->disk, store->host, id, by))
			facts.named = by;
		/* seen_since() also records when the idle time began, so call it for every device. */
		facts.idle_ms = seen_since(store, id, node, alone ? 0 : inventory_created_ms(store->host, vgpu),
					   look->note);
	}
	/* The recorded time may be of an earlier definition with this UUID. */
	if (facts.definition_ms > facts.idle_ms)
		facts.idle_ms = facts.definition_ms;
	facts.now_ms = sys_now_ms();
	fate_of_orphan(fate, &facts);
}

static bool is_stuck(const struct world *w, const char *id)
{
	for (size_t i = 0; i < w->nfailed_attempts; i++)
		if (strcmp(w->failed_attempts[i].removal, id) == 0)
			return true;
	return false;
}

/* Does a release still wait, within its time limit? If `goes`, the device is closed, so only the driver is left. */
static bool is_waiting(const struct world *w, const struct lease *lease, bool goes)
{
	const struct policy *policy = &w->config->policy;

	if (lease->state != LEASE_RELEASING || !config_is_valid(w->config) || lease->device == ABSENT ||
	    sys_now_ms() - lease->since_ms >= policy_release_ms(policy))
		return false;
	return !goes || release_is_drivers(w->store, policy, lease);
}

/* Does the device outlive the lease? False if the release removes it, or if it may then be removed as an orphan. */
static bool keeps_device(const struct fate_look *look, const struct lease *lease)
{
	const struct world *w = look->world;
	const struct inv_device *device = inventory_device(&w->inv, lease->vgpu.id);
	struct fate then = { 0 };

	/* A plain VF is free once its lease has gone. */
	if (lease->device == ABSENT || lease->state == LEASE_RESERVED || lease->vgpu.framework == FW_VF ||
	    release_removes(w->store, lease))
		return false;
	/* The end of the lease starts reclaim_grace, so the device may be removed at once only if that time is 0. */
	if (device && config_is_valid(w->config) && w->config->policy.reclaim_grace_s == 0)
		fate_orphan(&then, &(struct fate_look){ .world = w }, &device->vgpu, device->node, NULL);
	return !then.goes;
}

void fate_mark(struct world *w)
{
	bool locked = w->store->lock >= 0;
	const struct fate_look look = { .world = w, .note = locked && w->config->policy.reclaim_orphans };

	if (locked && libvirt_files_unread(w->disk, false))
		log_warn("what may be named in it stays: %s", libvirt_files_unread(w->disk, false));
	for (EACH(struct inv_device *, device, w->inv.devices, w->inv.ndevices)) {
		struct device_facts *facts = &device->facts;
		struct fate fate = { 0 };

		if (config_is_valid(w->config) && !is_stuck(w, device->vgpu.id) &&
		    !lease_find(&w->leases, device->vgpu.id))
			fate_orphan(&fate, &look, &device->vgpu, device->node, NULL);
		facts->reclaimable = fate.goes;
		/* 'vgpu-lease retype' keeps a VF that any domain names, even the requesting domain. */
		facts->removable = fate.free && !libvirt_files_names(w->disk, device->vgpu.id, NULL);
		facts->preset = facts->removable && !affinity_is_for_guest(w->store, device->vgpu.id);
	}
	/* Judge the leases without a device too, because most of them use capacity. */
	for (EACH(struct lease *, lease, w->leases.list, w->leases.n)) {
		struct fate fate = { 0 };

		if (!is_stuck(w, lease->vgpu.id))
			fate_lease(&fate, &look, lease, lease->device);
		lease->at_work |= is_waiting(w, lease, fate.goes);
		lease->reclaimable = fate.goes && !lease->at_work;
		lease->keeps = (lease->reclaimable || lease->at_work) && keeps_device(&look, lease);
	}
}
