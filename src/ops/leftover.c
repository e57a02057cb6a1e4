/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Finishing what other domains left behind. */
#include "ops/leftover.h"

#include <errno.h>
#include <unistd.h>

#include "sys/log.h"
#include "sys/timed_child.h"
#include "device/release.h"
#include "host/libvirt_daemon.h"
#include "host/libvirt_files.h"
#include "model/event.h"
#include "ops/gc.h"

/* The minimum age of an active lease: long, because a slow start must keep it, and nobody needs its capacity yet. */
enum { LEAST_GRACE_MS = 300000 };

/* Must be cheap and read none of libvirt's files, because a hook asks this of each lease. */
bool leftover_is(const struct store *store, const struct policy *policy, const struct lease *lease)
{
	int64_t age_ms = sys_now_ms() - lease->since_ms;

	switch (lease->state) {
	case LEASE_RESERVED:
		return false;
	case LEASE_CREATING:
		if (age_ms < (int64_t)policy->create_timeout_s * 1000)
			return false;
		break;
	case LEASE_ACTIVE:
		if (age_ms < LEAST_GRACE_MS || age_ms < (int64_t)policy->start_grace_s * 1000 ||
		    libvirt_files_has_status(store->host, lease->name))
			return false;
		break;
	case LEASE_RELEASING:
		/* Within the release's time, its writer finishes it. */
		if (!release_has_time(policy, lease))
			return !store_locked(store, lease->vgpu.pgpu) && !store_removes(store, lease->vgpu.id);
		break;
	}
	return !lease_at_work(store, lease);
}

bool leftover_any(const struct store *store, const struct policy *policy, const struct leases *leases)
{
	for (size_t i = 0; i < leases->n; i++)
		if (leftover_is(store, policy, &leases->list[i]))
			return !store_handler_runs(store);
	return false;
}

static int finish(const struct host *host, const struct config *config, const struct policy *policy,
		  const struct leftover_own *own, struct err *err)
{
	struct store store;
	struct gc pass = { .store = &store, .config = config, .policy = policy, .left = true };
	struct release_ids ids;

	if (store_open(&store, host, true, err) < 0)
		return -err->code;
	/* Marks its leases again as this process, so that others see a living writer. */
	if (own && release_mark(&store, own->domain, own->asked_ms, policy->lock_timeout_s * 1000, &ids, err) < 0)
		return -err->code;
	pass.own = own ? own->domain : NULL;
	return gc_run(&pass, err);
}

void leftover_finish(const struct host *host, const struct config *config, const struct policy *policy,
		     const struct leftover_own *own)
{
	struct host here = { .root = host->root, .libvirt = host->root, .name = host->name };
	struct err err = { 0 };
	int r;

	log_close();
	r = timed_child_detach(here.root, &err);
	if (r == 0)
		return;
	/* The child has closed the inherited descriptor of libvirt's root. */
	if (r == 1 && host->libvirt != host->root)
		libvirt_daemon_follow(&here);
	if (r == 1)
		finish(&here, config, policy, own, &err);
	if (err.code && own)
		log_warn("release: domain %s: its vGPUs are not released yet: %s; run 'vgpu-lease gc'", own->name,
			 err.text);
	else if (err.code)
		log_warn("leases of other domains not released: %s; run 'vgpu-lease gc'", err.text);
	if (r == 1) {
		log_close();
		_exit(0);
	}
}
