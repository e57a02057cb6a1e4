/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Leasing a device that a running domain already has. */
#include "device/adopt.h"

#include <errno.h>
#include <string.h>

#include "base/text.h"
#include "host/mdevctl_files.h"
#include "model/event.h"
#include "model/lease.h"
#include "state/history.h"

/* Fills in a plain VF, which the inventory never lists as a device. */
static bool plain_vf(struct inv_device *device, const struct inventory *inv, const char *id)
{
	struct inv_parent *vf = inventory_parent(inv, id);

	if (!vf || vf->card->framework != FW_VF)
		return false;
	*device = (struct inv_device){ .vgpu.framework = FW_VF, .parent = vf };
	text_copy(device->vgpu.id, sizeof(device->vgpu.id), id);
	text_copy(device->vgpu.parent, sizeof(device->vgpu.parent), id);
	text_copy(device->vgpu.pgpu, sizeof(device->vgpu.pgpu), vf->card->address);
	text_copy(device->vgpu.type, sizeof(device->vgpu.type), vf->card->offers[0].type->id);
	return true;
}

bool adopt_find(struct inv_device *device, const struct inventory *inv, const char *id)
{
	const struct inv_device *there = inventory_device(inv, id);

	if (!there)
		return plain_vf(device, inv, id);
	*device = *there;
	return *device->vgpu.type != '\0';
}

int adopt_device(const struct adoption *adoption, const struct inv_device *device, const struct lease *there,
		 struct err *err)
{
	const struct store *store = adoption->store;
	const struct inventory *inv = adoption->inv;
	const struct request *request = adoption->request;
	const struct inv_pgpu *card = inventory_card_of(device);
	const struct inv_type *type = inventory_type_of(inv, &device->vgpu);
	struct lease lease = lease_for(request, &device->vgpu);
	struct event_about about;
	struct owner_facts facts = { .framework = device->vgpu.framework,
				     .defined = mdevctl_defines_on(store->host, device->vgpu.id, device->vgpu.parent),
				     .nova = request->nova };
	struct affinity affinity;

	if (there && strcmp(there->domain, request->uuid) != 0)
		return err_set(err, EEXIST, "vGPU %s runs in this domain, but is leased to domain %s", device->vgpu.id,
			       there->name);
	if (there && there->state == LEASE_ACTIVE)
		return 0;
	/* A device that we created in this boot and have not removed counts as created, even without its lease. */
	facts.created = there ? there->origin == LEASE_CREATED
			      : affinity_get(store, device->vgpu.id, &affinity) && affinity.made_this_boot;
	lease.origin = owner_origin(owner_of(&facts));
	lease.state = LEASE_ACTIVE;
	lease.numa = card ? card->numa : UNKNOWN;
	lease.framebuffer_mib = type ? type->framebuffer_mib : UNKNOWN;
	if (lease_put(store, &lease, err) < 0)
		return -err->code;
	about = event_of(&lease);
	event_log(EVENT_RESTORED, &about, "%s: domain %s: %s %s, %s on %s", adoption->op, lease.name,
		  there || lease.origin == LEASE_CREATED ? "restored the lease of" : "recorded", lease.vgpu.id,
		  lease.vgpu.type, lease.vgpu.parent);
	return 1;
}
