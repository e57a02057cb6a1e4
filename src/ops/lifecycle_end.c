/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The operations that release or restore leases: release, unreserve and reconnect. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "device/adopt.h"
#include "ops/lifecycle.h"
#include "device/release.h"
#include "base/text.h"
#include "sys/log.h"
#include "sys/timed_child.h"
#include "model/event.h"
#include "state/history.h"
#include "plan/resolve.h"

enum { END_MS = 400, LAST_LOOK_MS = 1000 };
enum { UNRESERVE_MS = 2000 }; /* for the store's lock, after the operation's own time */

struct release {
	const struct policy *policy;
	struct store *store;
	const char *domain, *name;
	int64_t asked_ms; /* a younger lease belongs to a later start */
	struct release_ids ids;
	size_t left;
};

static void tell(void *arg, size_t i, int r, const struct err *err)
{
	const struct release *release = arg;
	const struct vgpu_ref *vgpu = &release->ids.list[i];
	const struct event_about about = { .vgpu = vgpu, .domain = release->domain, .name = release->name };

	if (r == 0)
		event_log(EVENT_RELEASED, &about, "release: domain %s: released %s", release->name, vgpu->id);
	else
		event_log(EVENT_DELAYED, &about, "release: domain %s: %s: not released yet: %s; run 'vgpu-lease gc'",
			  release->name, vgpu->id, err->text);
}

/* Marks and releases what the domain leases, by `deadline_ms`. Sets how much is left. Negative: not all is marked. */
static int give_up(struct release *release, int wait_ms, int64_t deadline_ms, int last_look_ms, struct err *err)
{
	struct sweep sweep = { release->store, release->policy, .told = tell, .arg = release };
	int r = release_mark(release->store, release->domain, release->asked_ms, wait_ms, &release->ids, err);

	sweep.ids = release->ids;
	release->left = release_sweep(&sweep, deadline_ms, last_look_ms);
	free(release->ids.list);
	return r;
}

/* A release that outlasts its hook. */
struct behind {
	struct host host;
	struct policy policy;
	char domain[UUID_SIZE], name[DOMAIN_NAME_SIZE];
	int64_t asked_ms;
};

static void warn_behind(const char *name, const struct err *err)
{
	log_warn("release: domain %s: its vGPUs are not released yet: %s; run 'vgpu-lease gc'", name, err->text);
}

static int finish_behind(void *arg, struct err *err)
{
	const struct behind *behind = arg;
	struct store store;
	struct release release = { &behind->policy, &store, behind->domain, behind->name, behind->asked_ms, { 0 }, 0 };
	int r = store_open(&store, &behind->host, true, err);

	if (r == 0)
		r = give_up(&release, behind->policy.lock_timeout_s * 1000, release_by(&behind->policy), LAST_LOOK_MS,
			    err);
	if (r < 0)
		warn_behind(behind->name, err);
	store_close(&store);
	log_close();
	return r;
}

/* Without a handler, a process that libvirt does not wait for finishes the release. */
static void leave_behind(const struct release *release, const struct host *host)
{
	struct behind behind = { .host = *host, .policy = *release->policy, .asked_ms = release->asked_ms };
	struct err err;

	/* The child inherits only the root's descriptor. libvirt's root is the same, because libvirt calls the hook. */
	behind.host.libvirt = behind.host.root;
	text_copy(behind.domain, sizeof(behind.domain), release->domain);
	text_cut(behind.name, sizeof(behind.name), release->name);
	log_close();
	if (timed_child_detach(finish_behind, &behind, sizeof(behind), host->root, &err) < 0)
		warn_behind(release->name, &err);
}

/*
 * Records that QEMU did not start with these vGPUs (libvirt 10.5 and later report that). The card may be the cause; if
 * not, trying it last does no harm. Reads without the lock, because the record is only advice.
 */
static void note_failures(const struct release *release, const struct store *store)
{
	autoleases struct leases leases = { 0 };
	struct err ignored;

	if (lease_list(store, &leases, &ignored) < 0)
		return;
	for (size_t i = 0; i < leases.n; i++) {
		const struct lease *lease = &leases.list[i];
		const struct event_about about = event_of(lease);

		if (strcmp(lease->domain, release->domain) != 0 || lease->state != LEASE_ACTIVE ||
		    lease->origin != LEASE_CREATED ||
		    release->asked_ms - lease->since_ms > (int64_t)release->policy->start_grace_s * 1000)
			continue;
		failure_note(store, lease->vgpu.pgpu, lease->vgpu.type);
		event_log(EVENT_FAILED, &about,
			  "release: domain %s: its start failed with %s on %s, which is tried last for a while",
			  release->name, lease->vgpu.type, lease->vgpu.pgpu);
	}
}

int lifecycle_release(const struct host *host, const struct config *config, const char *domain, const char *name,
		      const char *reason, struct err *err)
{
	const struct policy *policy = &config->policy;
	struct store store;
	struct release release = { policy, &store, domain, name, sys_now_ms(), { 0 }, 0 };
	int64_t deadline = release.asked_ms + (int64_t)policy->release_wait_s * 1000;
	bool handled;
	int r = store_open(&store, host, false, err);

	/* Without a store nothing was ever leased. */
	if (r < 0 || store.leases < 0) {
		store_close(&store);
		return r;
	}
	if (strcmp(reason, "failed") == 0)
		note_failures(&release, &store);
	r = give_up(&release, policy->release_wait_s * 1000, deadline - END_MS, 0, err);
	handled = store_handler_runs(&store);
	store_close(&store);
	/* The handler completes marked releases, but knows nothing of unmarked ones. */
	if (r == -ETIMEDOUT || (release.left && !handled))
		leave_behind(&release, host);
	return r;
}

int lifecycle_reconnect(const struct lifecycle *lifecycle, struct err *err)
{
	struct inv_query query = { .types = inv_no_types };
	autostore struct store store;
	autoinventory struct inventory inv = { 0 };
	const struct adoption adoption = { &store, &inv, lifecycle->request, "reconnect" };
	int64_t deadline = sys_now_ms() + (int64_t)lifecycle->policy->lock_timeout_s * 1000;
	int r = store_open(&store, lifecycle->host, true, err);

	if (r < 0)
		return r;
	for (size_t i = 0; i < lifecycle->request->nvgpus; i++)
		query.frameworks |= resolve_frameworks(&lifecycle->request->vgpus[i]);
	query.name = pool_name;
	query.arg = lifecycle->config;
	silent_recall(&store);
	if (inventory_read(&inv, lifecycle->host, &query, err) < 0 ||
	    store_lock(&store, sys_left_ms(deadline), err) < 0)
		return -err->code;
	silent_note(&store);
	/* An error with one vGPU does not cost another its lease. */
	for (size_t i = 0; i < lifecycle->request->nvgpus; i++) {
		const char *id = lifecycle->request->vgpus[i].id;
		struct inv_device device;
		struct lease there;
		int n;

		if (!adopt_find(&device, &inv, id))
			continue;
		n = lease_get(&store, id, &there, err);
		if (n < 0 || adopt_device(&adoption, &device, n == 1 ? &there : NULL, err) < 0)
			r = -err->code;
	}
	return r;
}

void lifecycle_unreserve(const struct lifecycle *lifecycle)
{
	autostore struct store store;
	autoleases struct leases leases = { 0 };
	struct err err;

	if (store_open(&store, lifecycle->host, false, &err) < 0 || store_lock(&store, UNRESERVE_MS, &err) < 0 ||
	    lease_list(&store, &leases, &err) < 0)
		return;
	for (size_t i = 0; i < leases.n; i++) {
		struct lease *lease = &leases.list[i];

		if (strcmp(lease->domain, lifecycle->request->uuid) != 0 || !lease->deadline_ms)
			continue;
		lease->deadline_ms = 0;
		if (lease->state == LEASE_RESERVED)
			lease_drop(&store, lease->vgpu.id, &err);
		else
			lease_put(&store, lease, &err);
	}
}
