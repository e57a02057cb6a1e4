/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Collects everything that a plan needs to know. */
#include "look/survey.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "internal.h"
#include "state/history.h"
#include "look/looked.h"

void survey_end(struct world *w)
{
	inventory_free(&w->inv);
	survey_drop_lookups(w);
	lease_list_free(&w->leases);
	lease_list_free(&w->void_leases);
	free(w->changed.vgpus);
	free(w->resolved_requests);
	free(w->names);
	free(w->defined_parents);
	free(w->missing_cards);
	free(w->failed_attempts);
	free(w->failures);
	*w = (struct world){ 0 };
}

/* PRESENCE_UNKNOWN: the framework or the card of an actively leased VF was not read, or the kernel cannot be asked. */
static enum presence presence_of(const struct world *w, const struct lease *lease)
{
	const struct vgpu_ref *vgpu = &lease->vgpu;

	if (!(w->inv.frameworks & 1U << vgpu->framework) ||
	    (vgpu->framework == FW_VARIANT && lease->state == LEASE_ACTIVE && survey_reads_named(w) &&
	     !inventory_pgpu(&w->inv, vgpu->pgpu)))
		return PRESENCE_UNKNOWN;
	return inventory_presence(&w->inv, w->host, vgpu);
}

/*
 * A domain that arrives again replaces its own reservations. A start replaces a reservation only if the vGPU exists
 * with a type other than the reserved type. The vGPU then counts as not leased.
 */
static bool is_replaced(const struct world *w, const struct lease *lease)
{
	const struct inv_device *device = inventory_device(&w->inv, lease->vgpu.id);

	return lease->state == LEASE_RESERVED && strcmp(lease->domain, w->request->uuid) == 0 &&
	       (w->mode != PLAN_PREPARE ||
		(device && *device->vgpu.type && strcmp(device->vgpu.type, lease->vgpu.type) != 0));
}

/* Does a creation have time left, even an interrupted one, or a release the hook that marked the lease? */
static bool has_time(const struct world *w, const struct lease *lease)
{
	const struct policy *policy = &w->config->policy;

	if (!config_is_valid(w->config) || lease->device == ABSENT)
		return false;
	if (lease->state == LEASE_RELEASING)
		return lease_is_hooks(lease, policy->release_wait_s);
	/* A plain VF is never created. */
	return lease->vgpu.framework != FW_VF &&
	       sys_now_ms() - lease->since_ms < (int64_t)policy->create_timeout_s * 1000;
}

static bool is_changing(const struct lease *lease)
{
	return lease->state == LEASE_RELEASING || lease->state == LEASE_CREATING;
}

/* Has the work on the lease taken longer than a creation or release lasts? */
static bool hangs(const struct world *w, const struct lease *lease)
{
	const struct policy *policy = &w->config->policy;

	if (!config_is_valid(w->config) || !lease->at_work)
		return false;
	if (lease->state == LEASE_RELEASING)
		return sys_now_ms() - lease->since_ms > policy_release_ms(policy);
	return store_lock_hung(w->store, lease->vgpu.pgpu, policy_create_ms(policy));
}

/* Sets whether the lease's device exists, and whether a creation or release in progress will change the lease. */
static void look_at_lease(const struct world *w, struct lease *lease)
{
	lease->device = lease->at_work && !inventory_device(&w->inv, lease->vgpu.id) ? PRESENCE_UNKNOWN
										     : presence_of(w, lease);
	lease->hangs = hangs(w, lease);
	lease->at_work = lease->at_work || (is_changing(lease) && has_time(w, lease));
}

static void set_void_apart(struct world *w)
{
	size_t kept = 0;

	lease_list_free(&w->void_leases);
	w->void_leases.list = mem_new(w->leases.n + 1, sizeof(*w->void_leases.list));
	for (EACH(struct lease *, lease, w->leases.list, w->leases.n)) {
		look_at_lease(w, lease);
		if (lease_is_void(lease, lease->device != ABSENT, lease->at_work, sys_now_ms()) ||
		    is_replaced(w, lease))
			w->void_leases.list[w->void_leases.n++] = *lease;
		else
			w->leases.list[kept++] = *lease;
	}
	w->leases.n = kept;
}

static void explain_unnamed(const struct world *w, const char *vf, const struct inv_pgpu *card, char why[REASON_SIZE])
{
	struct inv_pgpu own;

	if (inventory_read_card(w->host, vf, &own) && pool_names(w->config, &own, ""))
		snprintf(why, REASON_SIZE, "%s:%s is the VFs' ID; write %s:%s in device_match", own.vendor, own.device,
			 card->vendor, card->device);
	else
		snprintf(why, REASON_SIZE, "its card, %s, is not named in the configuration", card->address);
}

/* Explains why a VF that a domain names is missing. */
static void explain_absent(struct world *w)
{
	for (size_t i = 0; i < w->request->nvgpus; i++) {
		const struct vgpu_request *req = &w->request->vgpus[i];
		const struct section *section = NULL;
		char *why = w->resolved_requests[i].absent;
		struct inv_pgpu card;
		enum vf_is vf;

		if (req->kind != REQUEST_PCI || req->any || inventory_parent(&w->inv, req->id))
			continue;
		vf = config_is_valid(w->config) ? inventory_vf_card(w->host, req->id, &card) : VF_NONE;
		if (vf)
			section = pool_names(w->config, &card, req->id);
		if (vf == VF_PRESENT && !section)
			explain_unnamed(w, req->id, &card, why);
		else
			inventory_explain_card(w->host, req->id, section && section->vf, why);
	}
}

/* Reads the leases. `at_work`: also sets whether a process works on each. */
static int read_leases(struct world *w, bool at_work, struct err *err)
{
	lease_list_free(&w->leases);
	if (lease_list(w->store, &w->leases, err) < 0)
		return -err->code;
	for (size_t i = 0; at_work && i < w->leases.n; i++)
		w->leases.list[i].at_work = is_changing(&w->leases.list[i]) &&
					    store_locked_vgpu(w->store, w->leases.list[i].vgpu.id);
	return 0;
}

/*
 * Under the lock, reads the leases before the host. The leases say which types to read, and a lease on which no process
 * works keeps its device. Without the lock, reads the leases again after the host, because a lease is written before
 * its device is created.
 */
static int read_both(struct world *w, struct err *err)
{
	bool locked = w->store->lock >= 0;

	if (read_leases(w, locked, err) < 0 || survey_read_host(w, err) < 0)
		return -err->code;
	return locked ? 0 : read_leases(w, true, err);
}

static int record_seen(struct world *w, struct err *err)
{
	for (EACH(const struct lease *, lease, w->void_leases.list, w->void_leases.n)) {
		/* A start overwrites its reservation, which holds the capacity until the orphan has been removed. */
		if (w->mode == PLAN_PREPARE && is_replaced(w, lease))
			continue;
		/* On a read-only /run the lease stays. Every read sets it apart again. */
		if (lease_drop(w->store, lease->vgpu.id, err) < 0 && err->code != EROFS)
			return -err->code;
	}
	types_remember(w->store, &w->inv);
	if (config_is_valid(w->config))
		cards_remember(w->store, w->config);
	return 0;
}

int survey_read(struct world *w, struct err *err)
{
	int r;

	if (read_both(w, err) < 0)
		return -err->code;
	free(w->failures);
	w->nfailures = failure_list(w->store, &w->failures);
	set_void_apart(w);
	if (survey_reads_all(w))
		explain_absent(w);
	free(w->missing_cards);
	w->missing_cards = NULL;
	w->nmissing_cards = survey_reads_all(w) ? missing_cards(&w->missing_cards, w->host, &w->inv) : 0;
	r = survey_look_open(w, err);
	if (r < 0)
		return r;
	return w->store->lock >= 0 && record_seen(w, err) < 0 ? -err->code : r;
}

int survey_see(struct world *w, struct err *err)
{
	if (survey_start(w, err) < 0)
		return -err->code;
	if (!w->inv.frameworks)
		return survey_ahead(w, INT64_MAX, err) < 0 ? -err->code : survey_read(w, err);
	explain_absent(w);
	return survey_look_open(w, err);
}
