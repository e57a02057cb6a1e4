/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Leasing what running domains have: what other software plugged in, and what has lost its lease. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "device/adopt.h"
#include "host/kernel.h"
#include "ops/gc.h"

static void note(struct gc *c, const struct running_domain *domain, const char *id, bool mended, const char *why)
{
	struct gc_note *note = mem_add(&c->notes, &c->nnotes, sizeof(*note));

	note->mended = mended;
	text_copy(note->id, sizeof(note->id), id);
	text_cut(note->domain, sizeof(note->domain), domain->request->name);
	text_copy(note->why, sizeof(note->why), why);
}

/* Adopts under the store's lock, unless the lease has changed since it was judged: its writer knows better. */
static int adopt(const struct gc *c, const struct request *request, const struct inv_device *device,
		 const struct lease *judged, struct err *err)
{
	const struct vgpu_ref vgpu = kernel_vgpu(device->vgpu.id);
	const struct adoption adoption = { c->store, &c->looked, request, "reconcile" };
	const struct lease *there;
	struct lease now;
	int r;

	/* A driver can be slow or hang, so it is not asked under the lock. A plain VF always exists. */
	if (device->vgpu.framework == FW_VARIANT && kernel_exists(c->store->host, &vgpu) != 1)
		return 0;
	r = store_lock(c->store, c->policy->lock_timeout_s * 1000, err);
	if (r < 0)
		return r;
	r = lease_get(c->store, device->vgpu.id, &now, err);
	there = r == 1 ? &now : NULL;
	if (r >= 0 && lease_same(judged, there) &&
	    (device->vgpu.framework != FW_MDEV || kernel_exists(c->store->host, &vgpu) == 1))
		r = adopt_device(&adoption, device, there, err);
	store_unlock(c->store);
	return r == -EEXIST ? 0 : r;
}

static int judge_attached(struct gc *c, const struct running_domain *domain, const struct vgpu_request *req,
			  struct err *err)
{
	const struct lease *lease = lease_find(&c->leases, req->id);
	struct attached_facts facts = { .lease = lease,
					.domain = domain->uuid,
					.now_ms = sys_now_ms(),
					.grace_ms = (int64_t)c->policy->start_grace_s * 1000,
					.looked_ms = c->looked_ms,
					.settled = domain->settled };
	struct inv_device device;
	enum attached fate;
	struct err ignored;
	char why[REASON_SIZE];
	int r = 0;

	/* In this usual case the verdict is ATTACHED_LEAVE, so gather no facts. */
	if (lease && lease->state == LEASE_ACTIVE && strcmp(lease->domain, domain->uuid) == 0)
		return 0;
	facts.at_work = lease && lease_at_work(c->store, lease);
	facts.exists = adopt_find(&device, &c->looked, req->id);
	/* A PCI device that is not a vGPU and has no lease is not ours. */
	if (req->kind == REQUEST_PCI && !facts.exists && !lease)
		return 0;
	facts.open = vfio_users_open(c->users, c->store->host, req->id, NULL, &ignored);
	fate = fate_of_attached(&facts, why);
	if (fate == ATTACHED_LEASE)
		r = adopt(c, domain->request, &device, lease, err);
	/* If this lease cannot be written (/run is full), go on with the others. A lock that is held ends the pass. */
	if (r < 0 && r != -ETIMEDOUT) {
		snprintf(why, sizeof(why), "%.250s", err->text);
		r = 0;
	}
	if (fate != ATTACHED_LEAVE)
		note(c, domain, req->id, r == 1, why);
	return r;
}

/* Reports a suspended guest that was started without a resume, and so without its vGPUs. */
static void report_taken(struct gc *c, const struct running_domain *domain)
{
	char why[REASON_SIZE];

	for (size_t i = 0; domain->settled && domain->taken && i < domain->taken->nvgpus; i++) {
		const char *id = domain->taken->vgpus[i].id;
		const struct lease *lease = lease_find(&c->leases, id);

		if (request_find(domain->request, id) || (lease && lease_at_work(c->store, lease)))
			continue;
		snprintf(why, sizeof(why),
			 "detached by a suspend, so the domain runs without it; run 'vgpu-lease resume %s'",
			 text_operand(domain->request->name, domain->request->uuid));
		note(c, domain, id, false, why);
	}
}

int gc_adopt(struct gc *c, struct err *err)
{
	bool wrote = false;

	for (size_t i = 0; i < c->running.n; i++) {
		const struct running_domain *domain = &c->running.list[i];

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
