/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Choosing a vGPU for a running domain: an mdev with a new UUID, or a free VF. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "ops/preview.h"
#include "live/hotplug.h"
#include "internal.h"
#include "host/inventory.h"
#include "survey/hostdev_filter.h"
#include "plan/pool.h"
#include "base/text.h"

enum { VF_TRIES = 16 }; /* how often other attaches may lease the chosen VF first */

/* Does this ID, name or class (NULL: any) mean the section's type? */
static bool is_meant(const struct inventory *inv, const struct section *section, const char *type)
{
	const struct inv_type *t = inventory_type(inv, section->type);

	return !type || strcmp(section->type, type) == 0 || strcmp(section->class, type) == 0 ||
	       (t && type_is_named(t->name, type));
}

/* Does the type come only from cards whose vGPUs are VFs? */
static int is_vf(const struct hotplug *hp, const char *type, struct err *err)
{
	const struct inv_query query = { .frameworks = INV_ALL, .name = pool_name, .arg = hp->config };
	struct inventory inv;
	bool mdevs = false, vfs = false;
	int r;

	if (!hp->config || !hostdev_filter_possible(hp->config))
		return 0;
	r = inventory_read(&inv, hp->host, &query, err);
	if (r < 0)
		return r;
	pool_make(&inv, hp->config);
	for (size_t i = 0; i < hp->config->nsections; i++) {
		const struct section *section = &hp->config->sections[i];

		if (!is_meant(&inv, section, type))
			continue;
		mdevs |= pool_stock(&inv, section, true, NULL) != STOCK_NONE;
		vfs |= pool_stock(&inv, section, false, NULL) != STOCK_NONE;
	}
	inventory_free(&inv);
	return vfs && !mdevs;
}

static void vf_xml(const char *id, bool managed, char *xml, size_t size)
{
	unsigned int domain = 0, bus = 0, slot = 0, function = 0;

	sscanf(id, "%x:%x:%x.%x", &domain, &bus, &slot, &function);
	snprintf(xml, size,
		 "<hostdev mode='subsystem' type='pci' managed='%s'><source><address domain='0x%04x' bus='0x%02x' "
		 "slot='0x%02x' function='0x%x'/></source></hostdev>",
		 managed ? "yes" : "no", domain, bus, slot, function);
}

static int choose_vf(const struct hotplug *hp, const struct request *request, struct vgpu_request *req, char *xml,
		     size_t size, struct err *err)
{
	const struct lifecycle lifecycle = {
		.host = hp->host, .config = hp->config, .policy = hp->policy, .request = request
	};
	autopreview struct preview preview = { 0 };
	const struct step *step;

	req->managed = false;
	req->managed_as_needed = true;
	req->any = true;
	if (preview_make(&preview, &lifecycle, PLAN_ASSIGN, err) < 0)
		return -err->code;
	req->any = false;
	if (preview.plan.kind != PLAN_STEPS)
		return err_set(err, ENOSPC, "domain %s: %s", hp->domain.name, preview.plan.text);
	step = &preview.plan.steps[0];
	text_copy(req->id, sizeof(req->id), step->vgpu.id);
	/* libvirt must bind a plain VF to VFIO's driver. */
	req->managed = step->vgpu.framework == FW_VF;
	vf_xml(req->id, req->managed, xml, size);
	return 0;
}

/* Chooses and leases a VF. If another attach leases it first, chooses another, or keeps the refusal if none is left. */
static int lease_vf(struct hotplug *hp, struct request *request, struct vgpu_request *req, char *xml, size_t size,
		    struct err *err)
{
	int r = choose_vf(hp, request, req, xml, size, err);

	for (int tries = 1; r == 0; tries++) {
		char refused[ID_SIZE];
		struct err ignored;

		r = hotplug_lease(hp, request, "attach", err);
		/* The VF is leased to another domain, full by now, or attached to this very domain. */
		if ((r != -EPERM && r != -ENOSPC && r != -EBUSY) || tries == VF_TRIES)
			break;
		memcpy(refused, req->id, ID_SIZE);
		if (choose_vf(hp, request, req, xml, size, &ignored) == 0 && strcmp(req->id, refused) != 0)
			r = 0;
	}
	return r;
}

int hotplug_choose(struct hotplug *hp, const struct request *domain, const char *type, struct hotplug_choice *choice,
		   struct err *err)
{
	struct vgpu_request req = { .kind = REQUEST_MDEV, .numa = NUMA_AUTO, .has_metadata = type != NULL };
	struct request request = *domain; /* the domain's, but with only the new vGPU */
	int vf = is_vf(hp, type, err), r;

	if (vf < 0)
		return vf;
	if (type && !text_copy(req.facts.type, sizeof(req.facts.type), type))
		return err_set(err, EINVAL, "--type: not a type");
	request.vgpus = &req;
	request.nvgpus = 1;
	/* Nova does not know about a vGPU that it has not attached. */
	request.nova = false;
	if (vf) {
		req.kind = REQUEST_PCI;
		req.has_metadata = true;
		r = lease_vf(hp, &request, &req, choice->xml, sizeof(choice->xml), err);
	} else {
		uuid_random(req.id);
		snprintf(
			choice->xml, sizeof(choice->xml),
			"<hostdev mode='subsystem' type='mdev' model='vfio-pci'><source><address uuid='%s'/></source></hostdev>",
			req.id);
		r = hotplug_lease(hp, &request, "attach", err);
	}
	memcpy(choice->id, req.id, ID_SIZE);
	return r;
}
