/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a survey says of devices that are there already: whether one is open, and which domain names it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "device/kernel.h"
#include "host/libvirt_qemu.h"
#include "internal.h"
#include "state/lease_store.h"

/* Milliseconds for a look at all processes; the last two where capacity has to be made. */
enum { START_LOOK_MS = 250, ARRIVE_LOOK_MS = 1000, LEAST_LOOK_MS = 250, RECLAIM_LOOK_MS = 5000 };

void survey_drop_lookups(struct world *s)
{
	vfio_users_free(s->users);
	libvirt_files_free(s->disk);
	free(s->looked_at);
	s->users = NULL;
	s->disk = NULL;
	s->looked_at = NULL;
	s->nlooked_at = 0;
}

static int look_up(struct world *s, int ms, bool disk, struct err *err)
{
	survey_drop_lookups(s);
	s->looked_ms = sys_now_ms();
	if (inventory_mdevs(s->host, &s->looked_at, &s->nlooked_at, err) < 0)
		return -err->code;
	s->users = vfio_users_read(s->host, sys_now_ms() + ms);
	return disk ? libvirt_files_read(&s->disk, s->host, err) : 0;
}

static bool was_looked_at(const struct world *s, const char *id)
{
	char pci[PCI_SIZE];

	return (s->users && pci_parse(pci, id)) || id_among(s->looked_at, s->nlooked_at, id);
}

/* Is it open, and by whom? Not known where nobody looked, or could. */
static void look_who(const struct world *s, struct device_facts *facts, const char *id)
{
	char domain[DOMAIN_SHOWN_SIZE];
	struct err ignored;
	pid_t pid = 0;
	int r = s->users ? vfio_users_open(s->users, s->host, id, &pid, &ignored) : -EAGAIN;

	facts->opened = r < 0 ? OPEN_UNKNOWN : r == 1 ? OPEN_YES : OPEN_NO;
	if (r != 1 || !pid)
		return;
	if (libvirt_qemu_domain(s->host, pid, domain, sizeof(domain)))
		snprintf(facts->by, sizeof(facts->by), "process %d (QEMU of domain %s)", (int)pid, domain);
	else
		snprintf(facts->by, sizeof(facts->by), "process %d", (int)pid);
}

/*
 * Does a rule ask who has this device open? A prepare asks for a device that it is to adopt; an arrival for any that
 * it may take.
 */
static bool is_asked_about(const struct world *s, const struct inv_device *device)
{
	const struct lease *lease = lease_find(&s->leases, device->vgpu.id);

	if (lease)
		return s->mode != PLAN_PREPARE && strcmp(lease->domain, s->request->uuid) == 0;
	return s->mode != PLAN_PREPARE || request_names(s->request, device->vgpu.id);
}

/* A VF without a type: of a plain one only an open node tells that a guest has it. */
static bool is_vf_asked_about(const struct world *s, const struct inv_parent *vf)
{
	enum framework framework = vf->card->framework;

	return s->request->nvgpus && framework != FW_MDEV && vf->ndevices == 0 &&
	       (framework == FW_VF || s->mode != PLAN_PREPARE);
}

/*
 * The domain on disk, but the one that is given (NULL none), that names this device, or a file that cannot be read,
 * and may; "" none.
 */
static void find_name(const struct world *s, char out[DOMAIN_SHOWN_SIZE], const char *id, const char *but)
{
	const char *domain = s->disk ? libvirt_files_names(s->disk, id, but) : NULL;

	if (s->disk && !domain)
		domain = libvirt_files_unread(s->disk, false);
	snprintf(out, DOMAIN_SHOWN_SIZE, "%s", domain ? domain : "");
}

static void look_at_vf(struct world *s, struct inv_parent *vf)
{
	vf->facts.opened = OPEN_NO;
	s->asks = true;
	s->unseen |= !s->users;
	if (vf->card->framework == FW_VF)
		look_who(s, &vf->facts, vf->name);
	find_name(s, vf->facts.named_by, vf->name, s->request->name);
}

static void look_at_device(struct world *s, struct inv_device *device)
{
	s->asks = true;
	if (!was_looked_at(s, device->vgpu.id)) {
		s->unseen = true;
		return;
	}
	look_who(s, &device->facts, device->vgpu.id);
	find_name(s, device->facts.named_by, device->vgpu.id, NULL);
}

void survey_say_open(struct world *s)
{
	s->asks = s->unseen = false;
	for (size_t i = 0; i < s->inv.nparents; i++)
		if (is_vf_asked_about(s, s->inv.parents[i]))
			look_at_vf(s, s->inv.parents[i]);
	for (size_t i = 0; i < s->inv.ndevices; i++)
		if (is_asked_about(s, &s->inv.devices[i]))
			look_at_device(s, &s->inv.devices[i]);
}

/* Before the host is read: will a rule ask? A wrong guess costs a look, or another read. */
static bool will_ask(const struct world *s)
{
	for (size_t i = 0; i < s->request->nvgpus; i++) {
		const struct vgpu_request *req = &s->request->vgpus[i];
		const struct vgpu_ref vgpu = kernel_vgpu(req->id);
		struct err ignored;
		struct lease lease;

		if (s->mode != PLAN_PREPARE)
			return true;
		if (req->kind == REQUEST_PCI
			    ? !inventory_takes_type(s->host, req->id)
			    : kernel_exists(s->host, &vgpu) == 1 && lease_get(s->store, req->id, &lease, &ignored) != 1)
			return true;
	}
	return false;
}

int survey_ahead(struct world *s, struct err *err)
{
	bool starts = s->mode == PLAN_PREPARE;
	int left = s->deadline_ms ? sys_left_ms(s->deadline_ms) : RECLAIM_LOOK_MS;

	if (s->depth == SURVEY_RECLAIM) {
		left = left < LEAST_LOOK_MS ? LEAST_LOOK_MS : left;
		return look_up(s, left < RECLAIM_LOOK_MS ? left : RECLAIM_LOOK_MS, true, err);
	}
	/*
	 * A start need not know: VFIO lets nobody in as the second. Who arrives is given what is known to be free, and
	 * only that takes what it does not name itself.
	 */
	if (s->inv.frameworks ? s->asks : will_ask(s))
		return look_up(s, starts ? START_LOOK_MS : ARRIVE_LOOK_MS, !starts, err);
	return 0;
}
