/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Compares leases, the kernel's devices, running domains and open files. */
#include "daemon/reconcile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "device/adopt.h"
#include "device/release.h"
#include "host/vfio_users.h"
#include "host/inventory.h"
#include "host/kernel.h"
#include "model/event.h"
#include "internal.h"
#include "plan/pool.h"
#include "survey/reclaim.h"
#include "base/text.h"

enum {
	LOOK_MS = 60000, /* limit of a scan of all processes; long, because nothing waits for a pass */
	CLOSE_MS = 5000, /* until an unplugged device is looked at again that was still open */
};

/* The basis of the judgement. Devices and open files are the slowest to read, and most passes need neither. */
struct look {
	struct reconcile *pass;
	struct leases leases;
	struct inventory inv;
	struct vfio_users *users;
	bool deep;
	bool adopted; /* leases were written after `leases` was read */
};

static int64_t grace_ms(const struct reconcile *pass)
{
	return (int64_t)pass->policy->start_grace_s * 1000;
}

static int look_deeper(struct look *look, struct err *err)
{
	const struct config *config = look->pass->config;
	const struct inv_query query = {
		.frameworks = INV_MDEV | INV_VARIANT | INV_VF, .types = inv_no_types, .name = pool_name, .arg = config
	};

	if (look->deep)
		return 0;
	if (inventory_read(&look->inv, look->pass->store->host, &query, err) < 0)
		return -err->code;
	look->users = vfio_users_read(look->pass->store->host, sys_now_ms() + LOOK_MS);
	look->deep = true;
	return 0;
}

static int read_leases(struct look *look, struct err *err)
{
	lease_list_free(&look->leases);
	return lease_list_locked(look->pass->store, look->pass->policy->lock_timeout_s * 1000, &look->leases, err);
}

static void look_end(struct look *look)
{
	lease_list_free(&look->leases);
	inventory_free(&look->inv);
	vfio_users_free(look->users);
}

static int is_open(const struct look *look, const char *id)
{
	struct err err;

	return vfio_users_open(look->users, look->pass->store->host, id, NULL, &err);
}

static void note(struct reconcile *pass, enum reconcile_verdict verdict, const char *id, const char *domain,
		 const char *why)
{
	struct reconcile_item *item = mem_add(&pass->items, &pass->n, sizeof(*item));

	item->verdict = verdict;
	text_copy(item->id, sizeof(item->id), id);
	text_cut(item->domain, sizeof(item->domain), domain);
	text_copy(item->why, sizeof(item->why), why);
}

/* Adopts under the store's lock, unless the lease has changed since it was judged: its writer knows better. */
static int adopt(struct look *look, const struct request *request, const struct inv_device *device,
		 const struct lease *judged, struct err *err)
{
	const struct reconcile *pass = look->pass;
	const struct vgpu_ref vgpu = kernel_vgpu(device->vgpu.id);
	const struct adoption adoption = { pass->store, &look->inv, request, "reconcile" };
	const struct lease *there;
	struct lease now;
	int r;

	/* A driver can be slow or hang, so it is not asked under the lock. A plain VF always exists. */
	if (device->vgpu.framework == FW_VARIANT && kernel_exists(pass->store->host, &vgpu) != 1)
		return 0;
	r = store_lock(pass->store, pass->policy->lock_timeout_s * 1000, err);
	if (r < 0)
		return r;
	r = lease_get(pass->store, device->vgpu.id, &now, err);
	there = r == 1 ? &now : NULL;
	if (r >= 0 && lease_same(judged, there) &&
	    (device->vgpu.framework != FW_MDEV || kernel_exists(pass->store->host, &vgpu) == 1))
		r = adopt_device(&adoption, device, there, err);
	store_unlock(pass->store);
	return r == -EEXIST ? 0 : r;
}

static struct reconcile_view view_of(const struct reconcile *pass, const struct live_domain *domain,
				     const struct lease *lease)
{
	return (struct reconcile_view){ .lease = lease,
					.domain = domain->uuid,
					.settled = domain->settled,
					.now_ms = sys_now_ms(),
					.grace_ms = grace_ms(pass),
					.looked_ms = pass->looked_ms };
}

static int judge_device(struct look *look, const struct live_domain *domain, const struct vgpu_request *req,
			struct err *err)
{
	struct reconcile *pass = look->pass;
	const struct lease *lease = lease_find(&look->leases, req->id);
	struct reconcile_view view = view_of(pass, domain, lease);
	enum reconcile_verdict verdict;
	struct inv_device device;
	char why[REASON_SIZE];

	if (lease && lease->state == LEASE_ACTIVE && strcmp(lease->domain, domain->uuid) == 0)
		return 0;
	if (look_deeper(look, err) < 0)
		return -err->code;
	view.exists = adopt_find(&device, &look->inv, req->id);
	/* Any other PCI device is not ours. */
	if (req->kind == REQUEST_PCI && !view.exists && !lease)
		return 0;
	view.at_work = lease && reclaim_at_work(pass->store, lease);
	view.open = is_open(look, req->id);
	verdict = reconcile_device(&view, why);
	if (verdict == RECONCILE_LEAVE)
		return 0;
	note(pass, verdict, req->id, domain->request->name, why);
	if (verdict != RECONCILE_ADOPT)
		return 0;
	look->adopted = true;
	return adopt(look, domain->request, &device, lease, err);
}

/* Reports a suspended guest that was started without a resume, and so without its vGPUs. */
static void report_taken(const struct look *look, const struct live_domain *domain)
{
	char why[REASON_SIZE];

	for (size_t i = 0; domain->settled && domain->request && domain->taken && i < domain->taken->nvgpus; i++) {
		const char *id = domain->taken->vgpus[i].id;
		const struct lease *lease = lease_find(&look->leases, id);

		if (request_find(domain->request, id) || (lease && reclaim_at_work(look->pass->store, lease)))
			continue;
		snprintf(why, sizeof(why),
			 "detached by a suspend, so the domain runs without it; run 'vgpu-lease resume %.100s'",
			 domain->request->name);
		note(look->pass, RECONCILE_REPORT, id, domain->request->name, why);
	}
}

static int judge_devices(struct look *look, struct err *err)
{
	const struct reconcile *pass = look->pass;

	for (size_t i = 0; i < pass->ndomains; i++) {
		const struct live_domain *domain = &pass->domains[i];

		for (size_t j = 0; domain->request && j < domain->request->nvgpus; j++)
			if (judge_device(look, domain, &domain->request->vgpus[j], err) < 0)
				return -err->code;
		report_taken(look, domain);
	}
	return 0;
}

static const struct live_domain *find_domain(const struct reconcile *pass, const char *uuid)
{
	for (size_t i = 0; i < pass->ndomains; i++)
		if (strcmp(pass->domains[i].uuid, uuid) == 0)
			return &pass->domains[i];
	return NULL;
}

static bool is_running(const void *arg, const char *domain)
{
	return find_domain(arg, domain) != NULL;
}

static int judge_lease(struct look *look, const struct lease *lease, struct lease_marks *plugged, struct err *err)
{
	struct reconcile *pass = look->pass;
	const struct live_domain *domain = find_domain(pass, lease->domain);
	const struct event_about about = event_of(lease);
	struct reconcile_view view;
	char why[REASON_SIZE];
	int r;

	/* gc judges the leases of domains that do not run. */
	if (!domain || lease->state != LEASE_ACTIVE)
		return 0;
	view = view_of(pass, domain, lease);
	view.known = domain->request != NULL;
	view.at_work = sys_process_lives(lease->writer, lease->writer_start);
	view.named = view.known && request_find(domain->request, lease->vgpu.id);
	view.taken = domain->taken && request_find(domain->taken, lease->vgpu.id);
	view.seen = lease_marks_have(pass->plugged, lease);
	if (view.named || view.seen)
		lease_marks_add(plugged, lease);
	if (!view.known || view.named || view.taken)
		return 0;
	if (look_deeper(look, err) < 0)
		return -err->code;
	view.open = is_open(look, lease->vgpu.id);
	/* QEMU can close the device some time after libvirt has reported it as unplugged. No event tells of that. */
	if (view.open)
		reconcile_again(pass, sys_now_ms() + CLOSE_MS);
	if (reconcile_lease(&view, why) != RECONCILE_RELEASE)
		return 0;
	r = release_claim(pass->store, lease, release_lock_by(pass->policy), err);
	if (r <= 0)
		return r;
	event_log(EVENT_RECLAIMED, &about, "reconcile: domain %s: releasing %s: %s", lease->name, lease->vgpu.id, why);
	note(pass, RECONCILE_RELEASE, lease->vgpu.id, lease->name, why);
	return 0;
}

static int judge_leases(struct look *look, struct err *err)
{
	struct lease_marks plugged = { 0 };
	int r = 0;

	for (size_t i = 0; r == 0 && i < look->leases.n; i++)
		r = judge_lease(look, &look->leases.list[i], &plugged, err);
	lease_marks_free(look->pass->plugged);
	*look->pass->plugged = plugged;
	return r;
}

/* When to look again at a lease that stays for now. */
static int64_t due(const struct reconcile *pass, const struct lease *lease)
{
	switch (lease->state) {
	case LEASE_RESERVED:
		return lease->deadline_ms + 1;
	case LEASE_CREATING:
		return lease->since_ms + (int64_t)pass->policy->create_timeout_s * 1000 + 1;
	case LEASE_ACTIVE:
		return lease->since_ms + grace_ms(pass) + 1;
	case LEASE_RELEASING:
		break; /* left to reconcile_finish() */
	}
	return 0;
}

void reconcile_again(struct reconcile *pass, int64_t at_ms)
{
	if (pass->again_ms == 0 || at_ms < pass->again_ms)
		pass->again_ms = at_ms;
}

enum { RETRY_MS = 10000 };

static void sum_up(struct reconcile *pass)
{
	int64_t now = sys_now_ms();

	for (size_t i = 0; i < pass->gc.n; i++) {
		const struct gc_item *item = &pass->gc.items[i];
		int64_t at = item->leased && item->outcome == GC_STAYS ? due(pass, &item->lease) : 0;

		/* A lease that could not be written (/run is full) is tried again. */
		if (item->leased && item->outcome == GC_FAILED)
			at = now + RETRY_MS;
		if (item->novas && item->outcome == GC_STAYS && item->due_ms > now)
			at = item->due_ms + 1;
		pass->leases += item->leased && item->outcome != GC_GONE;
		/* An older active lease stays for a reason that does not depend on time. */
		if (at == 0 ||
		    (at <= now && item->lease.state == LEASE_ACTIVE && item->lease.since_ms < pass->looked_ms))
			continue;
		if (at < now + 1000)
			at = now + 1000;
		reconcile_again(pass, at);
	}
}

static int judge_all(struct reconcile *pass, struct err *err)
{
	__attribute__((cleanup(look_end))) struct look look = { .pass = pass };

	if (read_leases(&look, err) < 0 || judge_devices(&look, err) < 0)
		return -err->code;
	/* Read again, so that a device leased just now counts as seen if it is unplugged before the next pass. */
	if (look.adopted && read_leases(&look, err) < 0)
		return -err->code;
	return judge_leases(&look, err);
}

int reconcile_run(struct reconcile *pass, struct err *err)
{
	int r = judge_all(pass, err);

	if (r < 0)
		return r;
	pass->gc = (struct gc){ .store = pass->store,
				.config = pass->config,
				.policy = pass->policy,
				.looked_ms = pass->looked_ms,
				.runs = is_running,
				.arg = pass,
				.mark = true };
	r = gc_run(&pass->gc, err);
	if (r < 0)
		return r;
	sum_up(pass);
	return 0;
}

void reconcile_end(struct reconcile *pass)
{
	gc_free(&pass->gc);
	free(pass->items);
	pass->items = NULL;
	pass->n = 0;
}
