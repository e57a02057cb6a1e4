/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Warns about a domain's hostdevs and metadata. */
#include "look/remark.h"

#include <string.h>

#include "base/mem.h"
#include "look/inventory.h"
#include "look/pool.h"
#include "look/hostdev_filter.h"

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

	if (hostdev_is_ours(request, req, host, config, NULL))
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
