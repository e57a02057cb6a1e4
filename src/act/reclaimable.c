/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What can be removed to make capacity. */
#include "act/reclaimable.h"

#include <string.h>

#include "base/mem.h"
#include "act/fate_facts.h"
#include "state/history.h"
#include "look/survey.h"
#include "sys/log.h"

/* Has a removal of this device failed in this run? */
static bool is_stuck(const struct world *w, const char *id)
{
	for (size_t i = 0; i < w->nfailed_attempts; i++)
		if (strcmp(w->failed_attempts[i].removal, id) == 0)
			return true;
	return false;
}

static bool is_unleased(const struct world *w, const struct inv_device *device)
{
	return !is_stuck(w, device->vgpu.id) && !lease_find(&w->leases, device->vgpu.id);
}

void reclaimable_mark(struct world *w)
{
	struct config defaults;
	bool locked = w->store->lock >= 0;
	struct fate_look look = { .store = w->store,
				  .config = w->config,
				  .inv = &w->inv,
				  .users = w->users,
				  .disk = w->disk,
				  .asking = w->request->name,
				  .whole = true,
				  .looked_ms = w->looked_ms };

	config_default(&defaults);
	look.policy = w->config ? &w->config->policy : &defaults.policy;
	look.note = locked && look.policy->reclaim_orphans;
	if (locked && libvirt_files_unread(w->disk, false))
		log_warn("what may be named in it stays: %s", libvirt_files_unread(w->disk, false));
	for (EACH(struct inv_device *, device, w->inv.devices, w->inv.ndevices)) {
		struct device_facts *facts = &device->facts;
		struct fate fate = { 0 };

		if (w->config && is_unleased(w, device))
			fate_device(&fate, &look, device);
		facts->reclaimable = fate.goes;
		/* 'retype' keeps a VF that any domain names, even the domain that requests it now. */
		facts->removable = fate.free && !libvirt_files_names(w->disk, device->vgpu.id, NULL);
		facts->preset = facts->removable && !affinity_is_for_guest(w->store, device->vgpu.id);
	}
	/* Even a lease without a device uses capacity until it is dropped, whatever its framework. */
	for (EACH(struct lease *, lease, w->leases.list, w->leases.n)) {
		struct fate fate = { 0 };

		if (!is_stuck(w, lease->vgpu.id))
			fate_lease(&fate, &look, lease, lease->device);
		lease->reclaimable = fate.goes;
	}
	config_free(&defaults);
}

int reclaimable_look(struct world *w, struct err *err)
{
	w->wide = true;
	if (survey_ahead(w, INT64_MAX, err) < 0)
		return -err->code;
	reclaimable_mark(w);
	return 0;
}
