/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Leases vGPUs that running domains have without a lease: hot-plugged vGPUs, and vGPUs that have lost their lease. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "look/inventory.h"
#include "look/mdevctl_files.h"
#include "internal.h"
#include "model/event.h"
#include "act/gc.h"
#include "look/resolve.h"
#include "state/history.h"

bool adopt_find(struct inv_device *device, const struct inventory *inv, const char *id)
{
	const struct inv_device *there = inventory_device(inv, id);
	struct inv_parent *vf = inventory_parent(inv, id);
	const struct section *section;

	if (there) {
		*device = *there;
		return *device->vgpu.type;
	}
	/* The inventory lists plain VFs only as parents. */
	if (!vf || vf->card->framework != FW_VF)
		return false;
	section = pool_section_of(vf);
	*device = (struct inv_device){ .vgpu.framework = FW_VF, .parent = vf };
	text_copy(device->vgpu.id, sizeof(device->vgpu.id), id);
	text_copy(device->vgpu.parent, sizeof(device->vgpu.parent), id);
	text_copy(device->vgpu.pgpu, sizeof(device->vgpu.pgpu), vf->card->address);
	text_copy(device->vgpu.type, sizeof(device->vgpu.type), section ? section->type : vf->card->offers[0].type->id);
	return true;
}

int adopt_device(const struct world *world, const char *op, const struct request *request,
		 const struct inv_device *device, const struct lease *there, struct err *err)
{
	const struct store *store = world->store;
	const struct inv_pgpu *card = inventory_card_of(device);
	const struct inv_type *type = inventory_type(&world->inv, card, device->vgpu.type);
	struct lease lease = lease_for(request, &device->vgpu);
	struct owner_facts facts = { .framework = device->vgpu.framework,
				     .defined = mdevctl_defines(store->host, device->vgpu.id, device->vgpu.parent),
				     .nova = request->nova };
	struct affinity affinity;

	if (there && strcmp(there->domain, request->uuid) != 0)
		return err_set(err, EEXIST, "vGPU %s runs in this domain, but is leased to domain %s", device->vgpu.id,
			       there->name);
	if (there && there->state == LEASE_ACTIVE)
		return 0;
	/* If the lease was lost, the history tells whether we created the device since the last boot. */
	facts.created = there ? there->origin == LEASE_CREATED
			      : affinity_get(store, device->vgpu.id, &affinity) && affinity.made_this_boot;
	lease.origin = owner_origin(owner_of(&facts));
	lease.node = there ? there->node : 0;
	lease.state = LEASE_ACTIVE;
	lease.numa = card ? card->numa : UNKNOWN;
	lease.framebuffer_mib = type ? type->framebuffer_mib : UNKNOWN;
	if (lease_put(store, &lease, err) < 0)
		return -err->code;
	event_log(EVENT_RESTORED, event_of(&lease), "%s: domain %s: %s %s, %s on %s", op, lease.name,
		  there || lease.origin == LEASE_CREATED ? "restored the lease of" : "recorded", lease.vgpu.id,
		  lease.vgpu.type, lease.vgpu.parent);
	return 1;
}

int lifecycle_reconnect(const struct lifecycle *lifecycle, struct err *err)
{
	const struct request *request = lifecycle->request;
	struct inv_query query = { .types = inv_no_types, .config = lifecycle->config };
	autostore struct store store;
	autosurvey struct world world = lifecycle_world(lifecycle, &store, PLAN_PREPARE);
	int64_t deadline = sys_now_ms() + (int64_t)lifecycle->config->policy.lock_timeout_s * 1000;
	int r = store_open(&store, lifecycle->host, true, err);

	if (r < 0)
		return r;
	for (EACH(const struct vgpu_request *, req, request->vgpus, request->nvgpus))
		query.frameworks |= resolve_frameworks(req);
	if (inventory_read(&world.inv, lifecycle->host, &query, err) < 0 ||
	    store_lock(&store, sys_left_ms(deadline), err) < 0)
		return -err->code;
	for (EACH(const struct vgpu_request *, req, request->vgpus, request->nvgpus)) {
		struct inv_device device;
		struct lease there;
		int n;

		if (!adopt_find(&device, &world.inv, req->id))
			continue;
		n = lease_get(&store, req->id, &there, err);
		if (n < 0 || adopt_device(&world, "reconnect", request, &device, n == 1 ? &there : NULL, err) < 0)
			r = -err->code;
	}
	return r;
}

static void add_note(struct gc *c, const struct running_domain *domain, const char *id, const char *why)
{
	*(char **)mem_add(&c->notes, &c->nnotes, sizeof(*c->notes)) = mem_format("domain %s: vGPU %s: %s",
										 domain->request->name, id, why);
}

/* Adopts the device under the store's lock, if the device still exists and its lease does not differ from `judged`. */
static int adopt(const struct gc *c, const struct request *request, const struct inv_device *device,
		 const struct lease *judged, struct err *err)
{
	autounlock struct store *locked = c->world.store;
	const struct vgpu_ref vgpu = kernel_vgpu(device->vgpu.id);
	const struct lease *there;
	struct lease now;
	bool same;
	int r;

	/* Ask the driver before taking the lock, because the driver can be slow or hang. A plain VF always exists. */
	if (device->vgpu.framework == FW_VARIANT && kernel_exists(c->world.store->host, &vgpu) != 1)
		return 0;
	r = store_lock(c->world.store, c->world.config->policy.lock_timeout_s * 1000, err);
	if (r < 0)
		return r;
	r = lease_get(c->world.store, device->vgpu.id, &now, err);
	there = r == 1 ? &now : NULL;
	same = r >= 0 && lease_same(judged, there) &&
	       (device->vgpu.framework != FW_MDEV || kernel_exists(c->world.store->host, &vgpu) == 1);
	if (r >= 0)
		r = same ? adopt_device(&c->world, "reconcile", request, device, there, err) : 0;
	return r == -EEXIST ? 0 : r;
}

static int judge_attached(struct gc *c, const struct running_domain *domain, const struct vgpu_request *req,
			  struct err *err)
{
	const struct lease *lease = lease_find(&c->world.leases, req->id);
	struct attached_facts facts = { .lease = lease,
					.domain = domain->uuid,
					.now_ms = sys_now_ms(),
					.grace_ms = (int64_t)c->world.config->policy.start_grace_s * 1000,
					.looked_ms = c->world.looked_ms,
					.settled = domain->settled };
	struct inv_device device = { 0 };
	enum attached fate;
	struct err ignored;
	char why[REASON_SIZE];
	int r = 0;

	if (lease && lease->state == LEASE_ACTIVE && strcmp(lease->domain, domain->uuid) == 0)
		return 0;
	facts.at_work = lease && store_locked_vgpu(c->world.store, lease->vgpu.id);
	facts.exists = adopt_find(&device, &c->world.inv, req->id);
	/* Ignore PCI devices that are not vGPUs. */
	if (req->kind == REQUEST_PCI && !facts.exists && !lease)
		return 0;
	facts.open = vfio_users_open(c->world.users, c->world.store->host, req->id, NULL, &ignored);
	fate = fate_of_attached(&facts, why);
	if (fate == ATTACHED_LEASE)
		r = adopt(c, domain->request, &device, lease, err);
	/* Continue if one lease cannot be written. A lock that stays held (-ETIMEDOUT) ends the pass. */
	if (r < 0 && r != -ETIMEDOUT) {
		snprintf(why, sizeof(why), "%.250s", err->text);
		r = 0;
	}
	if (fate != ATTACHED_LEAVE && r != 1)
		add_note(c, domain, req->id, why);
	return r;
}

static void report_taken(struct gc *c, const struct running_domain *domain)
{
	char why[REASON_SIZE];

	for (size_t i = 0; domain->settled && domain->taken && i < domain->taken->nvgpus; i++) {
		const char *id = domain->taken->vgpus[i].id;
		const struct lease *lease = lease_find(&c->world.leases, id);

		if (request_find(domain->request, id) || (lease && store_locked_vgpu(c->world.store, lease->vgpu.id)))
			continue;
		snprintf(why, sizeof(why),
			 "detached by a suspend, so the domain runs without it; run 'vgpu-lease resume %s'",
			 text_operand(domain->request->name, domain->request->uuid));
		add_note(c, domain, id, why);
	}
}

int gc_adopt(struct gc *c, struct err *err)
{
	bool wrote = false;

	for (EACH(const struct running_domain *, domain, c->running.list, c->running.n)) {
		for (size_t j = 0; domain->request && j < domain->request->nvgpus; j++) {
			int r = judge_attached(c, domain, &domain->request->vgpus[j], err);

			if (r < 0)
				return r;
			wrote |= r == 1;
		}
		if (domain->request)
			report_taken(c, domain);
	}
	return wrote;
}
