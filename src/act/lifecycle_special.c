/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The end of a domain, and special cases of the operations that lease.
 *
 * If no lease can be written (libvirt does not run as root, or /run is read-only or full), a domain whose vGPUs all
 * exist starts without leases. A domain that runs here cannot arrive.
 *
 * To suspend an instance, Nova detaches the mdevs and saves the guest. To resume, Nova restores the guest without
 * mdevs, and then attaches the mdevs that exist. libvirt calls no hook for an attach. So before the restore,
 * the hook creates the missing mdevs of the instance's definition.
 */
#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "sys/log.h"
#include "look/libvirt_files.h"
#include "look/hostdev_filter.h"
#include "look/inventory.h"
#include "internal.h"
#include "act/release.h"
#include "model/event.h"
#include "state/history.h"

/*
 * At a domain's end, all waits end END_MS before `release_wait` is over. The last look may take LAST_MS. Even with a
 * `release_wait` of 0 the leases are marked: other processes hold the store's lock for milliseconds.
 */
enum { END_MS = 400, LAST_MS = 200, MARK_MS = 1000 };

int unleased_pass(const struct lifecycle *lifecycle, const char *why, enum err_about about, struct err *err)
{
	for (EACH(const struct vgpu_request *, req, lifecycle->request->vgpus, lifecycle->request->nvgpus)) {
		const struct vgpu_ref vgpu = kernel_vgpu(req->id);
		int r = kernel_exists(lifecycle->host, &vgpu);

		if (!req->any &&
		    (r == 1 || (req->kind == REQUEST_PCI && !inventory_takes_type(lifecycle->host, req->id))))
			continue;
		if (r < 0)
			return err_sys(err, -r, "vGPU %s", req->id);
		err_set(err, ENOENT, "vGPU %s: %s: %s", req->id,
			req->kind == REQUEST_PCI && !req->any ? "has no type and cannot be given one"
							      : "does not exist and cannot be created",
			why);
		return err_about(err, about);
	}
	return 0;
}

/* A lease shows who owns a created device, and stops the release of a kept device without an active lease. */
static bool needs_lease(const struct step *step, const struct leases *leases)
{
	const struct lease *lease = lease_find(leases, step->vgpu.id);

	return (step->kind == STEP_CREATE && step->vgpu.framework != FW_VF) ||
	       (step->kind == STEP_KEEP && !(lease && lease->state == LEASE_ACTIVE));
}

int unleased_check(const struct lifecycle *lifecycle, const struct plan *plan, const struct leases *leases, int r,
		   struct err *err)
{
	const struct err why = *err;

	/* Commands on running guests, which set `op`, always fail if a lease cannot be written. */
	if (lifecycle->op || (r != -EROFS && r != -ENOSPC && r != -EDQUOT))
		return r;
	if (!plan)
		return unleased_pass(lifecycle, why.text, ERR_STATE, err);
	for (size_t i = 0; i < plan->nsteps; i++)
		if (needs_lease(&plan->steps[i], leases))
			return err_in(err, "vGPU %s", plan->steps[i].vgpu.id);
	return 0;
}

int unleased_start(struct apply *apply, const struct lifecycle *lifecycle, const struct plan *plan,
		   const struct leases *leases, int r, struct err *err)
{
	const struct err why = *err;

	r = unleased_check(lifecycle, plan, leases, r, err);
	if (r < 0)
		return r;
	if (plan)
		apply_undo(apply);
	for (size_t i = 0; plan && i < plan->nsteps; i++)
		if (apply_present(apply, &plan->steps[i], err) < 0)
			return err_in(err, "vGPU %s", plan->steps[i].vgpu.id);
	log_warn("prepare: domain %s: starts without a lease; %s", lifecycle->request->name, why.text);
	return 0;
}

int lifecycle_before_plan(const struct lifecycle *lifecycle, enum plan_mode mode, struct err *err)
{
	if (!lifecycle->powerless)
		return 1;
	return mode == PLAN_RESTORE ? 0 : unleased_pass(lifecycle, lifecycle->config->why.text, ERR_CONFIG, err);
}

int lifecycle_refuse_running(const struct world *world, struct err *err)
{
	const char *domain = world->asked->uuid;
	bool runs = world->disk && libvirt_files_runs(world->disk, domain);

	if (world->mode != PLAN_MIGRATE && world->mode != PLAN_RESTORE)
		return 0;
	/* A starting domain has no status file yet, but has new leases. */
	for (EACH(const struct lease *, lease, world->leases.list, world->leases.n)) {
		runs |= lease->state == LEASE_ACTIVE && strcmp(lease->domain, domain) == 0 &&
			sys_now_ms() - lease->since_ms < (int64_t)world->config->policy.start_grace_s * 1000;
	}
	return runs ? err_set(err, EEXIST, "it runs on this host already: its vGPUs are left as they are") : 0;
}

static size_t keep_missing(struct domxml *definition, const struct host *host)
{
	const struct request *request = domxml_request(definition);
	bool keep[REQUEST_MAX] = { false };

	for (size_t i = 0; i < request->nvgpus; i++) {
		const struct vgpu_ref vgpu = kernel_vgpu(request->vgpus[i].id);

		keep[i] = request->vgpus[i].kind == REQUEST_MDEV && !request->vgpus[i].any &&
			  kernel_exists(host, &vgpu) == 0;
	}
	domxml_keep(definition, keep);
	return request->nvgpus;
}

void lifecycle_resumed(const struct lifecycle *lifecycle, const char *defined, size_t len)
{
	autodomxml struct domxml *definition = NULL;
	struct lifecycle own = *lifecycle;
	struct err err;

	if (domxml_parse(&definition, defined, len, 0, &err) < 0 || !domxml_request(definition)->nova)
		return;
	placeholder_settle(definition, lifecycle->host);
	if (!keep_missing(definition, lifecycle->host))
		return;
	own.doc = definition;
	own.request = domxml_request(definition);
	if (lifecycle_prepare(&own, &err) == 0)
		return;
	log_warn(
		"prepare: domain %s: starts without the vGPU that Nova's suspend detached: %s; fix this, then hard-reboot the instance",
		own.request->name, err.text);
}

static void log_release(void *arg, const struct lease *lease, int r, const struct err *err)
{
	(void)arg;
	if (r == 0)
		event_log(EVENT_RELEASED, event_of(lease), "release: domain %s: released %s", lease->name,
			  lease->vgpu.id);
	else if (r < 0)
		event_log(EVENT_DELAYED, event_of(lease),
			  "release: domain %s: %s: not released yet: %s; run 'vgpu-lease gc'", lease->name,
			  lease->vgpu.id, err->text);
}

/*
 * Records a failure of each pGPU on which the failed start created a vGPU, so that later starts try the pGPU last.
 * libvirt reports failed starts since 10.5. Reads the leases without a lock, because the record is only advice.
 */
static void note_failures(const struct store *store, const struct policy *policy, const char *domain, int64_t asked_ms)
{
	autoleases struct leases leases = { 0 };
	struct err ignored;

	if (lease_list(store, &leases, &ignored) < 0)
		return;
	for (EACH(const struct lease *, lease, leases.list, leases.n)) {
		if (strcmp(lease->domain, domain) != 0 || lease->state != LEASE_ACTIVE ||
		    lease->origin != LEASE_CREATED ||
		    asked_ms - lease->since_ms > (int64_t)policy->start_grace_s * 1000)
			continue;
		failure_note(store, lease->vgpu.pgpu, lease->vgpu.type);
		event_log(EVENT_FAILED, event_of(lease),
			  "release: domain %s: its start failed with %s on %s, which is tried last for a while",
			  lease->name, lease->vgpu.type, lease->vgpu.pgpu);
	}
}

int lifecycle_release(const struct host *host, const struct config *config, const char *domain, const char *reason,
		      struct err *err)
{
	autostore struct store store;
	struct sweep sweep = { .store = &store, .policy = &config->policy, .told = log_release };
	int64_t asked_ms = sys_now_ms();
	int wait_ms = sweep.policy->release_wait_s * 1000;
	int r = store_open(&store, host, false, err);
	bool handled;

	/* Without a store, no vGPU has been leased since the boot. */
	if (r < 0 || store.leases < 0)
		return r;
	if (strcmp(reason, "failed") == 0)
		note_failures(&store, sweep.policy, domain, asked_ms);
	/* Continue after an error: a later pass or start notices that the domain has ended. */
	r = release_mark(&store, domain, asked_ms, wait_ms ? wait_ms : MARK_MS, &sweep.leases, err);
	/* The handler finishes and reports releases. Without a handler, report unfinished releases here. */
	handled = store_locked(&store, STORE_HANDLER);
	if (wait_ms)
		release_sweep(&sweep, asked_ms + wait_ms - END_MS, handled ? 0 : LAST_MS);
	else if (!handled)
		for (size_t i = 0; i < sweep.leases.n; i++)
			log_release(NULL, &sweep.leases.list[i], -EAGAIN, &(struct err){ .text = "release_wait is 0" });
	lease_list_free(&sweep.leases);
	return r;
}
