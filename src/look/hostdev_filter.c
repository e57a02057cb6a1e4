/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Decides which PCI hostdevs of a domain are our vGPUs, and warns about the others. */
#include "look/hostdev_filter.h"

#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "look/inventory.h"
#include "look/libvirt_files.h"
#include "look/mdevctl_files.h"
#include "look/pool.h"
#include "state/history.h"
#include "state/store.h"

/* VFs take only NVIDIA types. */
static bool may_enable_types(const struct config *config)
{
	return !config_is_valid(config) || pool_enables_nvidia(config, false);
}

bool hostdev_filter_possible(const struct config *config)
{
	for (size_t i = 0; config && i < config->nsections; i++)
		if (config->sections[i].vf)
			return true;
	return config && may_enable_types(config);
}

bool hostdev_filter_leased(const struct host *host, const char *domain)
{
	autoleases struct leases leases = { 0 };
	autostore struct store store;
	struct err ignored;
	bool any = false;

	if (store_open(&store, host, false, &ignored) < 0 || lease_list(&store, &leases, &ignored) < 0)
		return false;
	for (size_t i = 0; i < leases.n; i++)
		any |= !domain || strcmp(leases.list[i].domain, domain) == 0;
	return any;
}

/* What the leases and records of this host say about an ID. PAST_KNOWN: the ID had a lease. */
enum past { PAST_NONE, PAST_KNOWN, PAST_LEASED, PAST_UNREADABLE };

static enum past past_of(const struct host *host, const char *id)
{
	struct affinity was;
	autostore struct store store;
	struct lease lease;
	struct err ignored;
	int r = store_open(&store, host, false, &ignored);

	r = r < 0 ? r : lease_get(&store, id, &lease, &ignored);
	if (r)
		return r < 0 ? PAST_UNREADABLE : PAST_LEASED;
	return affinity_get(&store, id, &was) ? PAST_KNOWN : PAST_NONE;
}

static bool is_plain_vf(const struct host *host, const char *address)
{
	return inventory_kind(host, address) == PCI_VF && !inventory_takes_type(host, address);
}

/* Is this a VF that provides nothing yet? A VF with a VFIO driver may be passed through. */
static bool is_not_ready(const struct host *host, const char *vf)
{
	autoclose int dir = inventory_open(host, vf);

	return dir >= 0 && !sys_exists(dir, "mdev_supported_types") && !inventory_is_given(host, vf);
}

/* Does a section name or match this device, rather than its card? */
static bool is_configured(const struct host *host, const struct config *config, const char *address)
{
	struct inv_pgpu device;

	return inventory_read_card(host, address, &device) && pool_names(config, &device, address);
}

/* Judges a VF by its card. A VF that is being disabled has no link to its card, so its lease and address count. */
static bool is_of_pool(const struct host *host, const struct config *config, const char *id)
{
	enum pci_kind kind = inventory_kind(host, id);
	struct inv_pgpu card;
	enum vf_is vf;
	enum past past;
	bool rest;

	if (kind == PCI_DEVICE)
		return false;
	if (kind == PCI_GOING_VF)
		return past_of(host, id) == PAST_LEASED || is_configured(host, config, id);
	vf = inventory_vf_card(host, id, &card);
	if (vf && pool_names(config, &card, id))
		return true;
	rest = vf && card.nvidia && pool_enables_nvidia(config, true);
	/* If device_match has the VFs' device ID by mistake, claim the VF, so that a start with the VF is refused. */
	if (kind != PCI_MISSING)
		return is_configured(host, config, id) ||
		       (may_enable_types(config) && inventory_takes_type(host, id)) || (rest && is_not_ready(host, id));
	if (rest || pool_names(config, &(struct inv_pgpu){ .numa = UNKNOWN }, id))
		return true;
	past = past_of(host, id);
	return past == PAST_KNOWN || past == PAST_LEASED;
}

/* Would hostdev_filter_keep() keep this PCI hostdev of the request? */
static bool is_ours(const struct request *request, const struct vgpu_request *req, const struct host *host,
		    const struct config *config, const struct leases *leases)
{
	const struct lease *lease = leases ? lease_find(leases, req->id) : NULL;

	if (lease && strcmp(lease->domain, request->uuid) == 0)
		return true;
	/* Without a configuration, a plain VF is passed through like any PCI device: nothing has to create it. */
	if (req->has_metadata && ((config && config_is_valid(config)) || !host || !is_plain_vf(host, req->id)))
		return true;
	return config && hostdev_filter_possible(config) && is_of_pool(host, config, req->id);
}

static int refuse_pgpu(const struct request *request, const struct host *host, struct err *err)
{
	autoleases struct leases leases = { 0 };
	autostore struct store store = STORE_NONE;

	if (store_open(&store, host, false, err) < 0 || lease_list(&store, &leases, err) < 0)
		return 0;
	for (EACH(const struct lease *, l, leases.list, leases.n)) {
		const struct vgpu_request *req = request_find(request, l->vgpu.pgpu);
		bool vf = !req && l->vgpu.framework == FW_MDEV;

		if (vf)
			req = request_find(request, l->vgpu.parent);
		if (req && l->state == LEASE_ACTIVE && strcmp(l->domain, request->uuid) != 0 &&
		    libvirt_files_has_status(host, l->name))
			return err_set(err, EPERM,
				       "hostdev %s is the %s of vGPU %s, which running domain %s uses; shut down that "
				       "domain, or use a vGPU of another pGPU",
				       req->id, vf ? "VF" : "pGPU", l->vgpu.id, l->name);
	}
	return 0;
}

int hostdev_filter_refuse_other(const struct request *request, const struct host *host, const struct config *config,
				struct err *err)
{
	autostore struct store store = STORE_NONE;
	struct err ignored;

	if (!hostdev_filter_possible(config) || store_open(&store, host, false, &ignored) < 0)
		return 0;
	for (EACH(const struct vgpu_request *, req, request->vgpus, request->nvgpus)) {
		char card[PCI_SIZE], now[INV_IDENTITY_SIZE];
		struct affinity was;
		bool vf;

		/* The plan judges our own vGPUs. */
		if (req->kind != REQUEST_PCI || !affinity_get(&store, req->id, &was) ||
		    inventory_kind(host, req->id) == PCI_GOING_VF || is_ours(request, req, host, config, NULL))
			continue;
		vf = inventory_physfn(host, req->id, card);
		if (!card_record_now(now, host, vf ? card : req->id))
			continue;
		/* Records of earlier versions do not have the card. A vGPU of ours is always a VF. */
		if (*was.card ? strcmp(was.card, now) != 0 : !vf)
			return err_set(
				err, EPERM,
				"hostdev %s is %s%s (%s) now, and was a %s vGPU%s%s; correct the hostdev, or remove "
				"/var/lib/vgpu-lease/affinity/%s to pass this device through",
				req->id, vf ? "a VF of " : "", now, inventory_class(host, req->id), was.type,
				*was.card ? " of " : "", was.card, req->id);
	}
	return 0;
}

void hostdev_filter_keep(struct domxml *doc, const struct host *host, const struct config *config,
			 const struct leases *leases)
{
	const struct request *request = domxml_request(doc);
	bool keep[REQUEST_MAX] = { false };

	if (host)
		placeholder_settle(doc, host);
	for (size_t i = 0; i < request->nvgpus; i++)
		keep[i] = request->vgpus[i].kind == REQUEST_MDEV ||
			  is_ours(request, &request->vgpus[i], host, config, leases);
	domxml_keep(doc, keep);
}

int hostdev_filter_request(struct domxml *doc, const struct host *host, const struct config *config, bool starts,
			   struct err *err)
{
	const struct request *request = domxml_request(doc);

	if (starts && request_has(request, REQUEST_PCI) &&
	    (refuse_pgpu(request, host, err) < 0 || hostdev_filter_refuse_other(request, host, config, err) < 0))
		return -err->code;
	hostdev_filter_keep(doc, host, config, NULL);
	return request->nvgpus > 0;
}

/* A placeholder never gets a lease, so an ID with a lease or a record is a real device. */
void placeholder_settle(struct domxml *doc, const struct host *host)
{
	const struct request *request = domxml_request(doc);

	for (size_t i = 0; i < request->nvgpus; i++) {
		const char *id = request->vgpus[i].id;
		const struct vgpu_ref vgpu = kernel_vgpu(id);

		if (request->vgpus[i].any &&
		    (kernel_exists(host, &vgpu) || mdevctl_defines(host, id, "") || past_of(host, id)))
			request->vgpus[i].any = false;
	}
}

/*
 * Is the device a pGPU of the pool? A match may also select a card that a guest has as a whole. So a card with a VFIO
 * driver must be named by its address.
 */
static bool is_pooled_card(const struct host *host, const struct inventory *inv, const char *address)
{
	const struct inv_pgpu *pooled = inv ? inventory_pgpu(inv, address) : NULL;
	const struct inv_pgpu unmatched = { .numa = UNKNOWN };
	struct inv_pgpu card;

	if (!inv || !inventory_read_card(host, address, &card))
		return false;
	return pool_names(inv->config, inventory_is_given(host, address) ? &unmatched : &card, address) ||
	       (card.gpu && pooled && pooled->pool.section);
}

/* Does a section name another VF of this VF's card? */
static bool is_beside(const struct host *host, const struct config *config, const char *vf)
{
	char card[PCI_SIZE], other[PCI_SIZE];

	if (!inventory_physfn(host, vf, card))
		return false;
	for (size_t i = 0; i < config->nsections; i++)
		for (size_t a = 0; a < config->sections[i].naddresses; a++)
			if (inventory_physfn(host, config->sections[i].addresses[a].text, other) &&
			    strcmp(card, other) == 0)
				return true;
	return false;
}

/* Reads the card of the VF at this address. False: the VF is missing, or its card is not a GPU. */
static bool find_gpu(const struct host *host, const char *vf, struct inv_pgpu *card)
{
	return inventory_vf_card(host, vf, card) == VF_PRESENT && card->gpu;
}

static bool makes_mdevs(const struct inventory *inv, const char *address)
{
	const struct inv_pgpu *card = inventory_pgpu(inv, address);

	return card && card->ready && card->framework == FW_MDEV && card->pool.section;
}

static void remark_pgpu(struct remarks *out, const char *how, const char *id)
{
	remark_add(out, "use one of its vGPUs, or remove it from the configuration",
		   "%s %s is a pGPU of the pool, so a start takes it from all other guests", how, id);
}

static void remark_hostdev(struct remarks *out, const struct request *request, const struct vgpu_request *req,
			   const struct host *host, const struct inventory *inv)
{
	const struct config *config = inv ? inv->config : NULL;
	char reason[REASON_SIZE];
	struct inv_pgpu card;

	if (is_ours(request, req, host, config, NULL))
		return;
	if (inventory_kind(host, req->id) == PCI_MISSING) {
		inventory_explain_card(host, req->id, !(inventory_vf_card(host, req->id, &card) && card.nvidia),
				       reason);
		remark_add(out, "the domain does not start without it; fix the cause, or correct its address",
			   "hostdev %s does not exist: %s", req->id, reason);
	} else if (is_pooled_card(host, inv, req->id)) {
		remark_pgpu(out, "hostdev", req->id);
	} else if (config && is_beside(host, config, req->id)) {
		remark_add(out, "add it to device_addresses, or use one of those",
			   "hostdev %s is not in the pool, but other VFs of its card are", req->id);
	} else if (inv && find_gpu(host, req->id, &card) && makes_mdevs(inv, card.address)) {
		remark_add(out, "use one of its mdevs (type='mdev')",
			   "hostdev %s is a VF of %s, a pGPU of the pool, which provides mdevs", req->id, card.address);
	} else if (hostdev_filter_possible(config) && find_gpu(host, req->id, &card)) {
		remark_add(out, "use a VF of the pool, or add the card to device_addresses",
			   "hostdev %s is not in the pool, and neither is its card, %s", req->id, card.address);
	}
}

/* Warns about a device in <qemu:commandline> that can be a vGPU or is a pGPU of the pool. */
static void remark_past_libvirt(struct remarks *out, const char *id, const struct host *host,
				const struct inventory *inv)
{
	const struct config *config = inv ? inv->config : NULL;
	char uuid[UUID_SIZE], physfn[PCI_SIZE];
	struct inv_pgpu card;

	if (!uuid_parse(uuid, id) && !inventory_physfn(host, id, physfn)) {
		if (is_pooled_card(host, inv, id))
			remark_pgpu(out, "device of <qemu:commandline>", id);
		return;
	}
	if (uuid_parse(uuid, id) || (hostdev_filter_possible(config) && find_gpu(host, id, &card)))
		remark_add(out, "name it in a <hostdev> instead",
			   "<qemu:commandline> gives %s to QEMU, so it is neither created nor leased", id);
}

void remark_hostdevs(struct remarks *out, const struct domxml *doc, const struct host *host,
		     const struct inventory *inv)
{
	const struct request *request = domxml_request(doc);

	for (size_t i = 0; i < request->nvgpus; i++)
		if (request->vgpus[i].kind == REQUEST_PCI && !request->vgpus[i].any)
			remark_hostdev(out, request, &request->vgpus[i], host, inv);
	for (size_t i = 0; i < request->npast; i++)
		remark_past_libvirt(out, request->past[i], host, inv);
}

void remark_domain(struct remarks *out, const struct domxml *doc, const struct host *host)
{
	const struct request *request = domxml_request(doc);
	const struct remarks *own = domxml_remarks(doc);

	for (EACH(const struct remark *, remark, own->list, own->n))
		remark_add(out, remark->fix, "%s", remark->text);
	for (EACH(const struct vgpu_request *, req, request->vgpus, request->nvgpus))
		if (req->numa == NUMA_NODE && !inventory_has_node(host, req->numa_node))
			remark_add(out, "write auto, none or a node of this host",
				   "<vgpu:device> of %s: numa='%d': this host has no NUMA node %d", req->id,
				   req->numa_node, req->numa_node);
}
