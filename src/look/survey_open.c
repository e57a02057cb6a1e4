/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Finds whether devices are open, and whether a domain's file names them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "look/kernel.h"
#include "internal.h"
#include "state/store.h"

/* Time limits in ms for a search of all processes: at a start, at an arrival, and in a wide survey. */
enum { LEAST_LOOK_MS = 250, ARRIVE_LOOK_MS = 1000, RECLAIM_LOOK_MS = 5000 };

void survey_drop_lookups(struct world *w)
{
	vfio_users_free(w->users);
	libvirt_files_free(w->disk);
	free(w->looked_at);
	w->users = NULL;
	w->disk = NULL;
	w->looked_at = NULL;
	w->nlooked_at = 0;
}

/*
 * A start uses only devices that it names, and VFIO admits only one user of a device, so a short search is enough. An
 * arrival can receive any device, so every device must be known to be free.
 */
static int look_up(struct world *w, int64_t by_ms, struct err *err)
{
	bool starts = w->mode == PLAN_PREPARE && !w->wide;
	int ms = w->wide ? RECLAIM_LOOK_MS : ARRIVE_LOOK_MS;
	int left = sys_left_ms(by_ms);

	survey_drop_lookups(w);
	w->looked_ms = sys_now_ms();
	if (inventory_mdevs(w->host, &w->looked_at, &w->nlooked_at, err) < 0)
		return -err->code;
	if (w->wide && left < ms)
		ms = left;
	if (starts || ms < LEAST_LOOK_MS)
		ms = LEAST_LOOK_MS;
	w->users = vfio_users_read(w->host, w->looked_ms + ms);
	return starts ? 0 : libvirt_files_read(&w->disk, w->host, err);
}

static bool was_looked_at(const struct world *w, const char *id)
{
	char pci[PCI_SIZE];

	return (w->users && pci_parse(pci, id)) || text_find(w->looked_at, w->nlooked_at, ID_SIZE, id);
}

/* Sets whether the device is open, and in which process. OPEN_UNKNOWN: the processes were not fully searched. */
static void look_who(const struct world *w, struct device_facts *facts, const char *id)
{
	const char *domain;
	struct arena *before;
	struct err ignored;
	pid_t pid = 0;
	int r = w->users ? vfio_users_open(w->users, w->host, id, &pid, &ignored) : -EAGAIN;

	facts->opened = r < 0 ? OPEN_UNKNOWN : r == 1 ? OPEN_YES : OPEN_NO;
	if (r != 1)
		return;
	domain = vfio_users_domain(w->users, pid);
	before = mem_use(w->inv.arena);
	facts->by = domain ? mem_format("process %d (QEMU of domain %s)", (int)pid, domain)
			   : mem_format("process %d", (int)pid);
	mem_use(before);
}

/*
 * Does a rule ask whether this device is open? A start asks about devices without a lease that it names. An arrival
 * asks about all devices without a lease, and about those leased to its domain.
 */
static bool is_asked_about(const struct world *w, const struct inv_device *device)
{
	const struct lease *lease = lease_find(&w->leases, device->vgpu.id);

	if (lease)
		return w->mode != PLAN_PREPARE && strcmp(lease->domain, w->request->uuid) == 0;
	return w->mode != PLAN_PREPARE || request_names(w->request, device->vgpu.id);
}

/*
 * Does a rule, or a command that shows the host, ask whether this VF is open? Only an open node shows that other
 * software gave a plain VF to a guest.
 */
static bool is_vf_asked_about(const struct world *w, const struct inv_parent *vf)
{
	if (vf->card->framework == FW_VF)
		return w->request->nvgpus || pool_has_parent(vf);
	return w->request->nvgpus && vf->card->framework == FW_VARIANT && vf->ndevices == 0 && w->mode != PLAN_PREPARE;
}

static bool is_anothers(const struct world *w, const char *id)
{
	return w->disk && libvirt_files_names(w->disk, id, w->request->name);
}

/*
 * Does a file name this device, which exists? For a device that the request does not name, a file of its own domain or
 * an unreadable file also counts.
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

	/* Nova also hands out what a deployment has just made for it. */
	return created_ms && !w->config->policy.nova &&
	       sys_now_ms() - created_ms < (int64_t)w->config->policy.start_grace_s * 1000;
}

/* Does a rule ask about a device that no search of the processes has covered? */
static bool asks_unseen(const struct world *w)
{
	for (size_t i = 0; i < w->inv.nparents && !w->users; i++)
		if (is_vf_asked_about(w, w->inv.parents[i]))
			return true;
	for (size_t i = 0; i < w->inv.ndevices; i++)
		if (is_asked_about(w, &w->inv.devices[i]) && !was_looked_at(w, w->inv.devices[i].vgpu.id))
			return true;
	return false;
}

int survey_look_open(struct world *w, struct err *err)
{
	bool unseen = asks_unseen(w), locked = w->store->lock >= 0;

	if (unseen && !locked && look_up(w, INT64_MAX, err) < 0)
		return -err->code;
	for (size_t i = 0; i < w->inv.nparents; i++) {
		struct inv_parent *vf = w->inv.parents[i];

		if (!is_vf_asked_about(w, vf))
			continue;
		vf->facts.opened = OPEN_NO;
		if (vf->card->framework == FW_VF) {
			look_who(w, &vf->facts, vf->name);
			vf->facts.renders = w->users && vfio_users_render(w->users, w->host, vf->name);
		}
		vf->facts.is_named = is_anothers(w, vf->name);
	}
	for (EACH(struct inv_device *, device, w->inv.devices, w->inv.ndevices)) {
		if (!is_asked_about(w, device) || !was_looked_at(w, device->vgpu.id))
			continue;
		look_who(w, &device->facts, device->vgpu.id);
		device->facts.is_named = is_named(w, device->vgpu.id);
		device->facts.young = is_young(w, &device->vgpu);
	}
	return unseen && locked;
}

/* Guesses, before the host is read, whether a rule will ask about a device. A wrong guess costs a search or round. */
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
	/* In later rounds of a run, search if an earlier round has searched, or if a rule asks about a new device. */
	bool asks = w->wide || (w->inv.frameworks ? w->users || asks_unseen(w) : will_ask(w));

	return asks ? look_up(w, by_ms, err) : 0;
}
