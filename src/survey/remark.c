/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Warns about doubtful hostdevs, devices in <qemu:commandline>, and metadata without effect on this host. */
#include "survey/remark.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "host/inventory.h"
#include "plan/pool.h"
#include "survey/hostdev_filter.h"

enum { TEXT_SIZE = REASON_SIZE + 64 };

/* Is the device, as a whole, a pGPU of the pool: by its address, a match, or a type that claims all cards? */
static bool is_pooled_card(const struct host *host, const struct inventory *inv, const char *address)
{
	const struct inv_pgpu *pooled = inv ? inventory_pgpu(inv, address) : NULL;
	struct inv_pgpu card;

	return inv && inventory_read_card(host, address, &card) &&
	       (pool_names(inv->config, &card, "") || (card.gpu && pooled && pooled->pool.section));
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

/* Finds the card of this VF; false: it is not a VF, or its card cannot be a GPU. */
static bool find_gpu(const struct host *host, const char *vf, char address[PCI_SIZE])
{
	struct inv_pgpu card;

	return inventory_physfn(host, vf, address) && inventory_read_card(host, address, &card) && card.gpu;
}

static void say_pgpu(const char *how, const char *id, remark_say *say, void *arg)
{
	char text[TEXT_SIZE];

	snprintf(text, sizeof(text), "%s %s is a pGPU of the pool, so a start takes it from all other guests", how, id);
	say(arg, text, "use one of its vGPUs, or remove it from the configuration");
}

static void remark_hostdev(const struct request *request, const struct vgpu_request *req, const struct host *host,
			   const struct inventory *inv, remark_say *say, void *arg)
{
	const struct config *config = inv ? inv->config : NULL;
	bool ours = hostdev_is_ours(request, req, host, config, NULL);
	char text[TEXT_SIZE], reason[REASON_SIZE], card[PCI_SIZE] = "";
	struct inv_pgpu pf;

	if (!inventory_exists(host, req->id)) {
		if (ours)
			return;
		if (!inventory_absent_vf(host, req->id, card) || !inventory_read_card(host, card, &pf))
			pf.nvidia = false;
		inventory_explain_card(host, req->id, !pf.nvidia, reason);
		snprintf(text, sizeof(text), "hostdev %s does not exist: %s", req->id, reason);
		say(arg, text, "the domain does not start without it; fix the cause, or correct its address");
	} else if (!ours && is_pooled_card(host, inv, req->id)) {
		say_pgpu("hostdev", req->id, say, arg);
	} else if (!ours && config && is_beside(host, config, req->id)) {
		snprintf(text, sizeof(text), "hostdev %s is not in the pool, but other VFs of its card are", req->id);
		say(arg, text, "add it to device_addresses, or use one of those");
	} else if (!ours && config && hostdev_filter_possible(config) && find_gpu(host, req->id, card)) {
		snprintf(text, sizeof(text), "hostdev %s is not in the pool, and neither is its card, %s", req->id,
			 card);
		say(arg, text, "use a VF of the pool, or add the card to device_addresses");
	}
}

/* Warns of a device in <qemu:commandline> that can be a vGPU (an mdev, a GPU's VF), or is a pGPU of the pool. */
static void remark_past_libvirt(const char *id, const struct host *host, const struct inventory *inv, remark_say *say,
				void *arg)
{
	const struct config *config = inv ? inv->config : NULL;
	char text[TEXT_SIZE], uuid[UUID_SIZE], card[PCI_SIZE];

	if (!uuid_parse(uuid, id) && !inventory_physfn(host, id, card)) {
		if (is_pooled_card(host, inv, id))
			say_pgpu("device of <qemu:commandline>", id, say, arg);
		return;
	}
	if (!uuid_parse(uuid, id) && (!config || !hostdev_filter_possible(config) || !find_gpu(host, id, card)))
		return;
	snprintf(text, sizeof(text), "<qemu:commandline> gives %s to QEMU, so it is neither created nor leased", id);
	say(arg, text, "name it in a <hostdev> instead");
}

void remark_hostdevs(const struct domxml *doc, const struct host *host, const struct inventory *inv, remark_say *say,
		     void *arg)
{
	const struct request *request = domxml_request(doc);

	for (size_t i = 0; i < request->nvgpus; i++)
		if (request->vgpus[i].kind == REQUEST_PCI && !request->vgpus[i].any)
			remark_hostdev(request, &request->vgpus[i], host, inv, say, arg);
	for (size_t i = 0; i < request->npast; i++)
		remark_past_libvirt(request->past[i], host, inv, say, arg);
}

void remark_domain(const struct domxml *doc, const struct host *host, remark_say *say, void *arg)
{
	const struct request *request = domxml_request(doc);
	const struct remark *remarks;
	size_t n = domxml_remarks(doc, &remarks);

	for (size_t i = 0; i < n; i++)
		say(arg, remarks[i].text, remarks[i].fix);
	for (EACH(const struct vgpu_request *, req, request->vgpus, request->nvgpus)) {
		char text[128];

		if (req->numa != NUMA_NODE || inventory_has_node(host, req->numa_node))
			continue;
		snprintf(text, sizeof(text), "<vgpu:device> of %s: numa='%d': this host has no NUMA node %d", req->id,
			 req->numa_node, req->numa_node);
		say(arg, text, "write auto, none or a node of this host");
	}
}
