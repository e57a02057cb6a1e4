/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* All that plan needs to know, brought together. */
#include "survey/survey.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "survey/missing_cards.h"
#include "base/auto.h"
#include "device/kernel.h"
#include "device/release.h"
#include "base/mem.h"
#include "base/text.h"
#include "sys/log.h"
#include "survey/reclaim.h"
#include "internal.h"
#include "plan/resolve.h"
#include "state/history.h"

static void drop_host(struct world *s)
{
	free(s->types);
	s->types = NULL;
	inventory_free(&s->inv);
}

void survey_end(struct world *s)
{
	drop_host(s);
	survey_drop_lookups(s);
	lease_list_free(&s->leases);
	lease_list_free(&s->void_leases);
	free(s->changed.vgpus);
	free(s->resolved_requests);
	free(s->reclaimable);
	free(s->stuck);
	free(s->missing_cards);
	free(s->failed_attempts);
	free(s->failures);
	*s = (struct world){ 0 };
}

/* What the request can concern; nothing else is read. */
static unsigned int frameworks_of(const struct world *s)
{
	unsigned int frameworks = 0;

	/* A refusal names the cards that make the type for another kind of hostdev, too. */
	if (s->depth != SURVEY_START)
		return INV_ALL;
	for (size_t i = 0; i < s->request->nvgpus; i++)
		frameworks |= resolve_frameworks(&s->request->vgpus[i]);
	return frameworks;
}

/*
 * The cards of the VFs that a start names: libvirt takes no other VF then, so that no other card matters, but for a
 * refusal. NULL: all matter. The caller frees the list, in one allocation.
 */
static const char **cards_of(const struct world *s)
{
	size_t n = 0, nvgpus = s->request->nvgpus;
	const char **cards;
	char *text;

	if (s->mode != PLAN_PREPARE || s->depth != SURVEY_START || !nvgpus)
		return NULL;
	cards = mem_new(nvgpus + 1, sizeof(*cards) + PCI_SIZE);
	text = (char *)(cards + nvgpus + 1);
	for (size_t i = 0; i < nvgpus; i++) {
		const struct vgpu_request *req = &s->request->vgpus[i];
		char *card = text + n * PCI_SIZE;
		size_t seen = 0;

		if (req->kind != REQUEST_PCI || !inventory_physfn(s->host, req->id, card))
			continue;
		while (seen < n && strcmp(cards[seen], card) != 0)
			seen++;
		if (seen == n)
			cards[n++] = card;
	}
	return cards;
}

/* Is it for the pool to say which type one of the vGPUs is to have? Of one that exists nobody asks. */
static bool asks_pool(const struct world *s)
{
	for (size_t i = 0; i < s->request->nvgpus; i++) {
		const struct vgpu_request *req = &s->request->vgpus[i];
		const struct vgpu_ref vgpu = kernel_vgpu(req->id);

		if (req->kind == REQUEST_MDEV && s->resolved_requests[i].ntypes == 0 &&
		    (s->mode != PLAN_PREPARE || req->any || kernel_exists(s->host, &vgpu) != 1))
			return true;
	}
	return false;
}

static int read_host(struct world *s, struct err *err)
{
	autofree const char **cards = cards_of(s);
	struct inv_query query = { .frameworks = frameworks_of(s),
				   .cards = cards,
				   .vf_name = s->config ? pool_vf_name : NULL,
				   .names_type = s->config ? pool_names_type : NULL,
				   .arg = s->config };

	drop_host(s);
	s->some_cards = cards != NULL;
	s->types = survey_types(s, s->depth != SURVEY_START || asks_pool(s) || pool_matches_twice(s->config) ? s->config
													     : NULL);
	query.types = s->depth == SURVEY_INVENTORY ? NULL : s->types;
	/* Without a pool, whatever could be in one is of interest. */
	query.gpus = !s->config || !s->config->nsections;
	if (inventory_read(&s->inv, s->host, &query, err) < 0)
		return -err->code;
	if (s->config)
		pool_make(&s->inv, s->config);
	return 0;
}

/* Does somebody write to this device, or to its pGPU? Of a release only the locks tell: the handler lives on. */
static bool is_written(const struct world *s, const struct lease *lease)
{
	return lease->state == LEASE_RELEASING
		       ? store_locked(s->store, lease->vgpu.pgpu) || store_removes(s->store, lease->vgpu.id)
		       : reclaim_at_work(s->store, lease);
}

/* Of one that the inventory has not, its driver is asked; of cards that were left out, only where that decides. */
static enum presence presence_of(const struct world *s, const struct lease *lease)
{
	const struct vgpu_ref *vgpu = &lease->vgpu;

	if (inventory_device(&s->inv, vgpu->id))
		return PRESENT;
	if (!(s->inv.frameworks & 1U << vgpu->framework) ||
	    (vgpu->framework == FW_VARIANT && lease->state == LEASE_ACTIVE && s->some_cards &&
	     !inventory_pgpu(&s->inv, vgpu->pgpu)))
		return PRESENCE_UNKNOWN;
	return kernel_presence(s->host, vgpu);
}

/* Void: nothing stands behind it any more. */
static bool is_void(const struct lease *lease)
{
	if (lease->state == LEASE_RESERVED)
		return lease->deadline_ms < sys_now_ms();
	return lease->state == LEASE_CREATING && !lease->at_work && lease->device == ABSENT;
}

/* The domain's own reservations are replaced when it arrives once more. */
static bool is_replaced(const struct world *s, const struct lease *lease)
{
	return s->mode != PLAN_PREPARE && lease->state == LEASE_RESERVED &&
	       strcmp(lease->domain, s->request->uuid) == 0;
}

/* Has a creation that goes on, or a release, its time yet? What a killed hook left may go after create_timeout. */
static bool has_time(const struct world *s, const struct lease *lease)
{
	const struct policy *policy = s->config ? &s->config->policy : NULL;

	if (!policy || lease->device == ABSENT)
		return false;
	return lease->state == LEASE_RELEASING
		       ? release_has_time(policy, lease)
		       : sys_now_ms() - lease->since_ms < (int64_t)policy->create_timeout_s * 1000;
}

static bool changes(const struct lease *lease)
{
	return lease->state == LEASE_RELEASING || lease->state == LEASE_CREATING;
}

/* Is there its device, and is it about to change by itself? */
static void look_at_lease(const struct world *s, struct lease *lease)
{
	lease->device = lease->at_work && !inventory_device(&s->inv, lease->vgpu.id) ? PRESENCE_UNKNOWN
										     : presence_of(s, lease);
	lease->at_work = lease->at_work || (changes(lease) && has_time(s, lease));
}

static void set_void_apart(struct world *s)
{
	size_t kept = 0;

	lease_list_free(&s->void_leases);
	s->void_leases.list = mem_new(s->leases.n + 1, sizeof(*s->void_leases.list));
	for (size_t i = 0; i < s->leases.n; i++) {
		struct lease *lease = &s->leases.list[i];

		look_at_lease(s, lease);
		if (is_void(lease) || is_replaced(s, lease))
			s->void_leases.list[s->void_leases.n++] = *lease;
		else
			s->leases.list[kept++] = *lease;
	}
	s->leases.n = kept;
}

static bool explain_unnamed(const struct world *s, const char *vf, const struct inv_pgpu *card, char why[REASON_SIZE])
{
	struct inv_pgpu own;

	if (pool_names(s->config, card, vf))
		return false;
	if (inventory_read_card(s->host, vf, &own) && pool_names(s->config, &own, ""))
		snprintf(why, REASON_SIZE, "%s:%s is the VFs' ID; write %s:%s in device_match", own.vendor, own.device,
			 card->vendor, card->device);
	else
		snprintf(why, REASON_SIZE, "its card, %s, is not named in the configuration", card->address);
	return true;
}

/* Why a VF that a domain names is not there. */
static void explain_absent(struct world *s)
{
	for (size_t i = 0; i < s->request->nvgpus; i++) {
		const struct vgpu_request *req = &s->request->vgpus[i];

		struct inv_parent vf = { 0 }, *vfs = &vf;
		struct inv_pgpu card;
		char address[PCI_SIZE];
		bool is_vf, has_card;

		if (req->kind != REQUEST_PCI || req->any || inventory_parent(&s->inv, req->id))
			continue;
		text_copy(vf.name, sizeof(vf.name), req->id);
		is_vf = inventory_physfn(s->host, req->id, address);
		has_card = s->config && (is_vf || inventory_absent_vf(s->host, req->id, address)) &&
			   inventory_read_card(s->host, address, &card);
		card.parents = &vfs;
		card.nparents = 1;
		if (!is_vf || !has_card || !explain_unnamed(s, req->id, &card, s->resolved_requests[i].absent))
			inventory_explain_card(s->host, req->id, has_card && pool_vf_name(s->config, &card, 0),
					       s->resolved_requests[i].absent);
	}
}

/* Only for what a refusal says: where that cannot be told, it says less. */
static void find_missing_cards(struct world *s)
{
	struct err ignored;

	free(s->missing_cards);
	s->missing_cards = NULL;
	s->nmissing_cards = 0;
	if (s->config && s->inv.frameworks == INV_ALL)
		missing_cards(&s->missing_cards, &s->nmissing_cards, s->host, &s->inv, &ignored);
}

/* Which devices would 'retype' remove, if reclaim and reclaim_grace were set for that? The question of a refusal. */
static void look_for_removable(struct world *s, const struct reclaim_check *asked)
{
	struct reclaim_check check = *asked;
	struct config config;
	char why[REASON_SIZE];

	if (!s->config)
		return;
	config = *s->config;
	config.policy.reclaim_orphans = true;
	config.policy.reclaim_grace_s = 0;
	check.config = &config;
	check.asking = NULL;
	check.note = false;
	check.unused = true;
	for (struct inv_device *d = s->inv.devices; d < s->inv.devices + s->inv.ndevices; d++)
		d->facts.removable = !id_among(s->stuck, s->nstuck, d->vgpu.id) &&
				     !lease_find(&s->leases, d->vgpu.id) && reclaim_is_orphan(&check, d, why, NULL);
}

static void find_reclaimable(struct world *s)
{
	struct reclaim_check check = { .host = s->host,
				       .store = s->store,
				       .config = s->config,
				       .inv = &s->inv,
				       .users = s->users,
				       .disk = s->disk,
				       .asking = s->request->name,
				       .note = !s->dry,
				       .looked_ms = s->looked_ms };
	char why[REASON_SIZE];

	if (libvirt_files_unread(s->disk, false))
		log_warn("what may be named in it stays: %s", libvirt_files_unread(s->disk, false));
	free(s->reclaimable);
	s->nreclaimable = 0;
	s->reclaimable = mem_new(s->inv.ndevices + s->leases.n + 1, sizeof(*s->reclaimable));
	for (size_t i = 0; i < s->inv.ndevices; i++) {
		const struct inv_device *device = &s->inv.devices[i];

		if (!id_among(s->stuck, s->nstuck, device->vgpu.id) && !lease_find(&s->leases, device->vgpu.id) &&
		    reclaim_is_orphan(&check, device, why, NULL))
			memcpy(s->reclaimable[s->nreclaimable++], device->vgpu.id, ID_SIZE);
	}
	/* A lease without a device takes capacity until it is dropped; one of another framework counts, too. */
	for (size_t i = 0; i < s->leases.n; i++) {
		const struct lease *lease = &s->leases.list[i];

		if (!id_among(s->stuck, s->nstuck, lease->vgpu.id) &&
		    reclaim_is_stale(&check, lease, lease->device, why, NULL))
			memcpy(s->reclaimable[s->nreclaimable++], lease->vgpu.id, ID_SIZE);
	}
	look_for_removable(s, &check);
	s->reclaimable_known = true;
}

int survey_look(struct world *s, struct err *err)
{
	s->depth = SURVEY_RECLAIM;
	if (survey_ahead(s, err) < 0)
		return -err->code;
	find_reclaimable(s);
	return 0;
}

/*
 * Whether somebody is at work on a lease is looked at here, before the device that he may change. Without the lock the
 * leases are read once more after the host, as a lease is older than its device.
 */
static int read_leases(struct world *s, struct err *err)
{
	lease_list_free(&s->leases);
	if (lease_list(s->store, &s->leases, err) < 0)
		return -err->code;
	for (size_t i = 0; i < s->leases.n; i++)
		s->leases.list[i].at_work = changes(&s->leases.list[i]) && is_written(s, &s->leases.list[i]);
	return 0;
}

int survey_read(struct world *s, struct err *err)
{
	s->reclaimable_known = false;
	s->nreclaimable = s->nmissing_cards = 0;
	/* Before the host: of their types it is asked, too. */
	if (read_leases(s, err) < 0 || read_host(s, err) < 0 || (s->store->lock < 0 && read_leases(s, err) < 0))
		return -err->code;
	free(s->failures);
	s->nfailures = failure_list(s->store, &s->failures);
	set_void_apart(s);
	if (s->depth >= SURVEY_EXPLAIN) {
		explain_absent(s);
		find_missing_cards(s);
	}
	if (s->depth == SURVEY_RECLAIM)
		find_reclaimable(s);
	survey_say_open(s);
	return 0;
}

int survey_see(struct world *s, struct err *err)
{
	if (survey_read(s, err) < 0)
		return -err->code;
	if (!s->unseen)
		return 0;
	if (survey_ahead(s, err) < 0)
		return -err->code;
	survey_say_open(s);
	return 0;
}

int survey_record(struct world *s, struct err *err)
{
	for (size_t i = 0; i < s->void_leases.n; i++)
		/* Where nothing can be written it is set apart each time. */
		if (lease_drop(s->store, s->void_leases.list[i].vgpu.id, err) < 0 && err->code != EROFS)
			return -err->code;
	types_remember(s->store, &s->inv);
	if (s->config)
		cards_remember(s->store, s->config);
	silent_note(s->store);
	return 0;
}
