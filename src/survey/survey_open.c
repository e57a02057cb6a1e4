/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a survey says of devices that are there already: whether one is open, and which domain names it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "host/libvirt_qemu.h"
#include "internal.h"

/* Milliseconds for a look at all processes. */
enum { START_LOOK_MS = 250, ARRIVE_LOOK_MS = 1000 };

void survey_drop_lookups(struct survey *s)
{
	vfio_users_free(s->users);
	libvirt_files_free(s->disk);
	free(s->looked_at);
	s->users = NULL;
	s->disk = NULL;
	s->looked_at = NULL;
	s->nlooked_at = 0;
}

int survey_look_up(struct survey *s, int ms, bool disk, struct err *err)
{
	survey_drop_lookups(s);
	s->looked_at = mem_new(s->inv.ndevices + 1, sizeof(*s->looked_at));
	for (; s->nlooked_at < s->inv.ndevices; s->nlooked_at++)
		memcpy(s->looked_at[s->nlooked_at], s->inv.devices[s->nlooked_at].vgpu.id, ID_SIZE);
	s->users = vfio_users_read(s->host, sys_now_ms() + ms);
	return disk ? libvirt_files_read(&s->disk, s->host, err) : 0;
}

static bool was_looked_at(const struct survey *s, const char *id)
{
	for (size_t i = 0; i < s->nlooked_at; i++)
		if (strcmp(s->looked_at[i], id) == 0)
			return true;
	return false;
}

/* Is it open, and by whom? Not known where nobody looked, or could. */
static void look_who(const struct survey *s, struct device_facts *facts, const char *id)
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
static bool is_asked_about(const struct survey *s, const struct inv_device *device)
{
	const struct lease *lease = lease_find(&s->leases, device->vgpu.id);

	if (lease)
		return s->mode != PLAN_PREPARE && strcmp(lease->domain, s->request->uuid) == 0;
	return s->mode != PLAN_PREPARE || request_names(s->request, device->vgpu.id);
}

/* A VF without a type: of a plain one only an open node tells that a guest has it. */
static bool is_vf_asked_about(const struct survey *s, const struct inv_parent *vf)
{
	enum framework framework = vf->card->framework;

	return s->request->nvgpus && framework != FW_MDEV && vf->ndevices == 0 &&
	       (framework == FW_VF || s->mode != PLAN_PREPARE);
}

/*
 * The domain on disk, but the one that is given (NULL none), that names this device, or a file that cannot be read,
 * and may; "" none.
 */
static void find_name(const struct survey *s, char out[DOMAIN_SHOWN_SIZE], const char *id, const char *but)
{
	const char *domain = s->disk ? libvirt_files_names(s->disk, id, but) : NULL;

	if (s->disk && !domain)
		domain = libvirt_files_unread(s->disk, false);
	snprintf(out, DOMAIN_SHOWN_SIZE, "%s", domain ? domain : "");
}

static void look_at_vfs(struct survey *s)
{
	for (size_t i = 0; i < s->inv.nparents; i++) {
		struct inv_parent *vf = s->inv.parents[i];

		if (!is_vf_asked_about(s, vf))
			continue;
		vf->facts.opened = OPEN_NO;
		if (vf->card->framework == FW_VF)
			look_who(s, &vf->facts, vf->name);
		find_name(s, vf->facts.named_by, vf->name, s->request->name);
	}
}

/* True: one was not there at the last look. */
static bool look_at_devices(struct survey *s)
{
	bool unseen = false;

	for (size_t i = 0; i < s->inv.ndevices; i++) {
		struct inv_device *d = &s->inv.devices[i];

		if (d->facts.opened != OPEN_UNKNOWN || !is_asked_about(s, d))
			continue;
		if (!was_looked_at(s, d->vgpu.id)) {
			unseen = true;
			continue;
		}
		look_who(s, &d->facts, d->vgpu.id);
		find_name(s, d->facts.named_by, d->vgpu.id, NULL);
	}
	return unseen;
}

bool survey_say_open(struct survey *s)
{
	look_at_vfs(s);
	return look_at_devices(s);
}

/* Is anything asked that only a look at all processes tells? */
static bool asks(const struct survey *s)
{
	for (size_t i = 0; i < s->inv.ndevices; i++)
		if (is_asked_about(s, &s->inv.devices[i]))
			return true;
	for (size_t i = 0; i < s->inv.nparents; i++)
		if (is_vf_asked_about(s, s->inv.parents[i]))
			return true;
	return false;
}

int survey_processes(struct survey *s, struct err *err)
{
	bool starts = s->mode == PLAN_PREPARE;

	/*
	 * A start need not know: VFIO lets nobody in as the second. Who arrives is given what is known to be free, and
	 * only that takes what it does not name itself.
	 */
	return asks(s) ? survey_look_up(s, starts ? START_LOOK_MS : ARRIVE_LOOK_MS, !starts, err) : 0;
}
