/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Collects everything that a plan needs to know. */
#include "look/survey.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "internal.h"
#include "look/looked.h"
#include "look/mdevctl_files.h"
#include "look/resolve.h"
#include "state/history.h"

/* Time limits in ms for a search of all processes: at a start, at an arrival, and in a wide survey. */
enum { LEAST_LOOK_MS = 250, ARRIVE_LOOK_MS = 1000, RECLAIM_LOOK_MS = 5000 };

static void drop_lookups(struct world *w)
{
	vfio_users_free(w->users);
	libvirt_files_free(w->disk);
	free(w->looked_at);
	w->users = NULL;
	w->disk = NULL;
	w->looked_at = NULL;
	w->nlooked_at = 0;
}

void survey_end(struct world *w)
{
	inventory_free(&w->inv);
	drop_lookups(w);
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

static bool reads_all(const struct world *w)
{
	return w->wide || !w->request->nvgpus;
}

static bool reads_named(const struct world *w)
{
	return w->mode == PLAN_PREPARE && !reads_all(w);
}

/* Adds each type once, because reading a type costs one read per pGPU. */
static void add_type(const char ***types, size_t *n, const char *type)
{
	for (size_t i = 0; i < *n; i++)
		if (strcmp((*types)[i], type) == 0)
			return;
	*(const char **)mem_add(types, n, sizeof(**types)) = type;
}

/*
 * The types of the request and the leases, and all configured types if the pool must choose: for a request without a
 * type, or between two sections that match one card. The caller frees the list.
 */
static const char **types_of(const struct world *w)
{
	const struct config *config = w->config;
	const char **types = NULL;
	size_t n = 0, nmatching = 0;
	bool untyped = false;

	for (EACH(const struct resolved_request *, resolved, w->resolved_requests, w->request->nvgpus)) {
		untyped |= resolved->ntypes == 0;
		for (int t = 0; t < resolved->ntypes; t++)
			add_type(&types, &n, resolved->types[t]);
	}
	for (size_t i = 0; i < w->leases.n; i++)
		add_type(&types, &n, w->leases.list[i].vgpu.type);
	for (size_t i = 0; i < config->nsections; i++)
		nmatching += config->sections[i].nmatches > 0;
	for (size_t i = 0; (untyped || nmatching > 1) && i < config->nsections; i++)
		add_type(&types, &n, config->sections[i].type);
	mem_add(&types, &n, sizeof(*types)); /* NULL ends the list */
	return types;
}

static int read_host(struct world *w, struct err *err)
{
	autofree char(*cards)[PCI_SIZE] = NULL;
	autofree const char **types = reads_all(w) ? NULL : types_of(w);
	struct inv_query query = { .types = types, .config = w->config };
	size_t ncards = 0;

	inventory_free(&w->inv);
	/* Also read frameworks that the request cannot use, because a refusal names their cards. */
	if (reads_all(w))
		query.frameworks = INV_ALL;
	for (size_t i = 0; i < w->request->nvgpus; i++)
		query.frameworks |= resolve_frameworks(&w->request->vgpus[i]);
	for (size_t i = 0; i < w->request->nvgpus && reads_named(w); i++)
		if (w->request->vgpus[i].kind == REQUEST_PCI)
			inventory_group_cards(w->host, w->request->vgpus[i].id, &cards, &ncards);
	if (reads_named(w))
		mem_add(&cards, &ncards, PCI_SIZE); /* "" ends the list */
	query.cards = cards;
	return inventory_read(&w->inv, w->host, &query, err) < 0 ? -err->code : 0;
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

/* Is there time left for the creation, even if interrupted, or for the hook that marked the lease as releasing? */
static bool has_time(const struct world *w, const struct lease *lease)
{
	const struct policy *policy = &w->config->policy;

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

/* Has the work on the lease taken longer than a creation or release can take? */
static bool hangs(const struct world *w, const struct lease *lease)
{
	const struct policy *policy = &w->config->policy;

	if (lease->state == LEASE_RELEASING)
		return sys_now_ms() - lease->since_ms > policy_release_ms(policy);
	return store_lock_hung(w->store, lease->vgpu.pgpu, policy_create_ms(policy));
}

/* Sets whether the lease's device exists, and whether a creation or release in progress will change the lease. */
static void look_at_lease(const struct world *w, struct lease *lease)
{
	/* A start does not read the cards of other VFs, and asks their drivers nothing. */
	bool unread = lease->vgpu.framework == FW_VARIANT && lease->state == LEASE_ACTIVE && reads_named(w) &&
		      !inventory_pgpu(&w->inv, lease->vgpu.pgpu);
	bool configured = config_is_valid(w->config);

	lease->device = unread || (lease->at_work && !inventory_device(&w->inv, lease->vgpu.id))
				? PRESENCE_UNKNOWN
				: inventory_presence(&w->inv, w->host, &lease->vgpu);
	lease->hangs = configured && lease->at_work && hangs(w, lease);
	lease->at_work |= configured && is_changing(lease) && lease->device != ABSENT && has_time(w, lease);
	/* A release that neither removes a device nor frees a plain VF. */
	lease->keeps = lease->device != ABSENT && lease->state == LEASE_RELEASING && lease->origin == LEASE_ADOPTED &&
		       lease->vgpu.framework != FW_VF;
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
		if (vf == VF_PRESENT && !section && !(card.nvidia && pool_enables_nvidia(w->config, true)))
			explain_unnamed(w, req->id, &card, why);
		else
			inventory_explain_card(w->host, req->id, section && section->vf, why);
	}
}

static int read_leases(struct world *w, struct err *err)
{
	lease_list_free(&w->leases);
	if (lease_list(w->store, &w->leases, err) < 0)
		return -err->code;
	for (EACH(struct lease *, lease, w->leases.list, w->leases.n))
		lease->at_work = is_changing(lease) && store_locked_vgpu(w->store, lease->vgpu.id);
	return 0;
}

/*
 * Reads the leases before the host, because they say which types to read. Under the lock that is enough: a lease on
 * which no process works keeps its device. Without the lock, reads the leases again after the host, because a lease is
 * written before its device is created.
 */
static int read_both(struct world *w, struct err *err)
{
	if (read_leases(w, err) < 0 || read_host(w, err) < 0)
		return -err->code;
	return w->store->lock >= 0 ? 0 : read_leases(w, err);
}

/* A start uses only devices that it names, so a short search is enough. An arrival can receive any free device. */
static int look_up(struct world *w, int64_t by_ms, struct err *err)
{
	bool starts = w->mode == PLAN_PREPARE && !w->wide;
	int ms = starts ? LEAST_LOOK_MS : w->wide ? RECLAIM_LOOK_MS : ARRIVE_LOOK_MS, left = sys_left_ms(by_ms);

	if (w->wide && left < ms)
		ms = left > LEAST_LOOK_MS ? left : LEAST_LOOK_MS;
	drop_lookups(w);
	w->looked_ms = sys_now_ms();
	if (inventory_mdevs(w->host, &w->looked_at, &w->nlooked_at, err) < 0)
		return -err->code;
	w->users = vfio_users_read(w->host, w->looked_ms + ms);
	return starts ? 0 : libvirt_files_read(&w->disk, w->host, err);
}

/* OPEN_UNKNOWN: the search of the processes was incomplete. */
static void look_who(const struct world *w, struct device_facts *facts, const char *id)
{
	const char *domain;
	struct arena *before;
	struct err ignored;
	pid_t pid = 0;
	int r = vfio_users_open(w->users, w->host, id, &pid, &ignored);

	facts->opened = r < 0 ? OPEN_UNKNOWN : r == 1 ? OPEN_YES : OPEN_NO;
	if (r != 1)
		return;
	domain = vfio_users_domain(w->users, pid);
	before = mem_use(w->inv.arena);
	facts->by = domain ? mem_format("process %d (QEMU of domain %s)", (int)pid, domain)
			   : mem_format("process %d", (int)pid);
	mem_use(before);
}

/* A start asks about the unleased devices that it names. Others ask about all unleased ones and the domain's own. */
static bool is_asked_about(const struct world *w, const struct inv_device *device)
{
	const struct lease *lease = lease_find(&w->leases, device->vgpu.id);

	if (lease)
		return w->mode != PLAN_PREPARE && strcmp(lease->domain, w->request->uuid) == 0;
	return w->mode != PLAN_PREPARE || request_names(w->request, device->vgpu.id);
}

/* Only an open node shows that other software gave a plain VF to a guest, so commands that show the host also ask. */
static bool is_vf_asked_about(const struct world *w, const struct inv_parent *vf)
{
	return vf->card->framework == FW_VF && (w->request->nvgpus || pool_has_parent(vf));
}

static bool is_anothers(const struct world *w, const char *id)
{
	return w->disk && libvirt_files_names(w->disk, id, w->request->name);
}

/*
 * Does a libvirt file name this device? If the request names the device, only files of other domains count. Otherwise,
 * an unreadable file and the file of the request's domain also count.
 */
static bool is_named(const struct world *w, const char *id)
{
	if (request_names(w->request, id))
		return is_anothers(w, id);
	return w->disk && (libvirt_files_names(w->disk, id, NULL) || libvirt_files_unread(w->disk, false));
}

static bool is_young(const struct world *w, const struct vgpu_ref *vgpu)
{
	int64_t created_ms = inventory_created_ms(w->host, vgpu);

	return created_ms && sys_now_ms() - created_ms < (int64_t)w->config->policy.start_grace_s * 1000;
}

/* Does a rule ask whether a device is open? */
static bool asks(const struct world *w)
{
	for (size_t i = 0; i < w->inv.nparents; i++)
		if (is_vf_asked_about(w, w->inv.parents[i]))
			return true;
	for (size_t i = 0; i < w->inv.ndevices; i++)
		if (is_asked_about(w, &w->inv.devices[i]))
			return true;
	return false;
}

/* A device that appeared after the search stays OPEN_UNKNOWN. 1: needs a search, which is not made under the lock. */
static int look_open(struct world *w, struct err *err)
{
	if (!w->users && asks(w)) {
		if (w->store->lock >= 0)
			return 1;
		if (look_up(w, INT64_MAX, err) < 0)
			return -err->code;
	}
	for (size_t i = 0; i < w->inv.nparents; i++) {
		struct inv_parent *vf = w->inv.parents[i];

		if (vf->card->framework == FW_MDEV)
			vf->facts.is_named = text_find(w->defined_parents, w->ndefined_parents, PARENT_SIZE,
						       vf->name) != NULL;
		else
			vf->facts.is_named = vf->ndevices == 0 && is_anothers(w, vf->name);
		if (is_vf_asked_about(w, vf)) {
			look_who(w, &vf->facts, vf->name);
			vf->facts.renders = vfio_users_render(w->users, w->host, vf->name);
		}
	}
	for (EACH(struct inv_device *, device, w->inv.devices, w->inv.ndevices)) {
		const char *id = device->vgpu.id;
		bool covered = device->vgpu.framework != FW_MDEV || text_find(w->looked_at, w->nlooked_at, ID_SIZE, id);

		if (!covered || !is_asked_about(w, device))
			continue;
		look_who(w, &device->facts, id);
		device->facts.is_named = is_named(w, id);
		device->facts.young = is_young(w, &device->vgpu);
	}
	return 0;
}

/* Guesses, before the host is read, whether a rule will ask. A wrong guess costs a search or a second read. */
static bool will_ask(const struct world *w)
{
	for (EACH(const struct vgpu_request *, req, w->request->vgpus, w->request->nvgpus)) {
		const struct vgpu_ref vgpu = kernel_vgpu(req->id);
		struct err ignored;
		struct lease lease;

		if (w->mode != PLAN_PREPARE)
			return true;
		if (req->kind == REQUEST_PCI
			    ? !inventory_takes_type(w->host, req->id)
			    : kernel_exists(w->host, &vgpu) == 1 && lease_get(w->store, req->id, &lease, &ignored) != 1)
			return true;
	}
	return false;
}

int survey_ahead(struct world *w, int64_t by_ms, struct err *err)
{
	if (!w->defined_parents && request_has(w->request, REQUEST_MDEV))
		w->ndefined_parents = mdevctl_parents(&w->defined_parents, w->host);
	/* If one round of a run has searched, all later rounds do. */
	if (w->wide || w->users || (w->inv.frameworks ? asks(w) : will_ask(w)))
		return look_up(w, by_ms, err);
	return 0;
}

static int record_seen(struct world *w, struct err *err)
{
	for (EACH(const struct lease *, lease, w->void_leases.list, w->void_leases.n)) {
		/* The reservation holds the capacity until the start has removed the vGPU of another type. */
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
	if (reads_all(w))
		explain_absent(w);
	free(w->missing_cards);
	w->missing_cards = NULL;
	w->nmissing_cards = reads_all(w) ? missing_cards(&w->missing_cards, w->host, &w->inv) : 0;
	r = look_open(w, err);
	return r == 0 && w->store->lock >= 0 ? record_seen(w, err) : r;
}

int survey_see(struct world *w, struct err *err)
{
	if (resolve_request(w, err) < 0)
		return -err->code;
	if (!w->inv.frameworks)
		return survey_ahead(w, INT64_MAX, err) < 0 ? -err->code : survey_read(w, err);
	explain_absent(w);
	return look_open(w, err);
}
