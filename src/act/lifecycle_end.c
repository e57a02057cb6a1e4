/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The operation that releases: release. */
#include <errno.h>
#include <string.h>

#include "act/lifecycle.h"
#include "act/release.h"
#include "model/event.h"
#include "state/history.h"

/* The waits end END_MS before `release_wait` is over. The last look may take LAST_MS. */
enum { END_MS = 400, LAST_MS = 200 };

static void log_release(void *arg, const struct lease *lease, int r, const struct err *err)
{
	const struct event_about about = event_of(lease);

	(void)arg;
	if (r == 0)
		event_log(EVENT_RELEASED, &about, "release: domain %s: released %s", lease->name, lease->vgpu.id);
	else
		event_log(EVENT_DELAYED, &about, "release: domain %s: %s: not released yet: %s; run 'vgpu-lease gc'",
			  lease->name, lease->vgpu.id, err->text);
}

/*
 * Records that QEMU did not start with these vGPUs, which libvirt reports since 10.5. The card may be the cause; if it
 * is not, trying it last does no harm. The record is only advice, so the leases are read without the lock.
 */
static void note_failures(const struct store *store, const struct policy *policy, const char *domain, int64_t asked_ms)
{
	autoleases struct leases leases = { 0 };
	struct err ignored;

	if (lease_list(store, &leases, &ignored) < 0)
		return;
	for (size_t i = 0; i < leases.n; i++) {
		const struct lease *lease = &leases.list[i];
		const struct event_about about = event_of(lease);

		if (strcmp(lease->domain, domain) != 0 || lease->state != LEASE_ACTIVE ||
		    lease->origin != LEASE_CREATED ||
		    asked_ms - lease->since_ms > (int64_t)policy->start_grace_s * 1000)
			continue;
		failure_note(store, lease->vgpu.pgpu, lease->vgpu.type);
		event_log(EVENT_FAILED, &about,
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

	/* Without a store, nothing was ever leased. */
	if (r < 0 || store.leases < 0)
		return r;
	if (strcmp(reason, "failed") == 0)
		note_failures(&store, sweep.policy, domain, asked_ms);
	/* If a lease cannot be marked in time, a later pass or start finds that its domain has ended. */
	r = release_mark(&store, domain, asked_ms, wait_ms, &sweep.leases, err);
	/* The handler completes and reports releases. If no handler runs, report what is left. */
	handled = store_locked(&store, STORE_HANDLER);
	if (wait_ms)
		release_sweep(&sweep, asked_ms + wait_ms - END_MS, handled ? 0 : LAST_MS);
	else if (!handled)
		for (size_t i = 0; i < sweep.leases.n; i++)
			log_release(NULL, &sweep.leases.list[i], -EAGAIN, &(struct err){ .text = "release_wait is 0" });
	lease_list_free(&sweep.leases);
	return r;
}
