/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where libvirt, the lease and the kernel differ about a vGPU. */
#include "libvirt/hotplug.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

__attribute__((format(printf, 2, 3))) static void add_difference(struct compare *v, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(v->differences[v->n++], REASON_SIZE, fmt, ap);
	va_end(ap);
}

static void compare_words(struct compare *v, const char *as, const char *leased, const char *is, const char *found)
{
	if (*found && strcmp(leased, found) != 0)
		add_difference(
			v,
			"leased %s %.50s, but the device is %s %.50s, created by other software; run 'vgpu-lease release %s' "
			"once the domain is shut down",
			as, leased, is, found, v->id);
}

static void lease_and_kernel(struct compare *v)
{
	const struct lease *lease = v->lease;

	if (!lease || lease->state == LEASE_RESERVED || lease->state == LEASE_CREATING)
		return;
	if (v->exists == PRESENCE_UNKNOWN) {
		add_difference(v, "cannot tell whether the device exists: its driver does not answer");
	} else if (v->exists) {
		compare_words(v, "as", lease->vgpu.type, "a", v->type);
		compare_words(v, "on", lease->vgpu.parent, "on", v->parent);
	} else if (!v->runs || v->live) { /* else it is detached, and the lease only has to be released */
		add_difference(v, "leased, but the device does not exist; %s",
			       v->runs ? "shut the domain down and start it again" : v->gc);
	}
}

static void running_and_lease(struct compare *v)
{
	const struct lease *lease = v->lease;

	if (!lease)
		add_difference(v, "attached but not leased; vgpu-leased leases devices attached by other means");
	else if (strcmp(lease->domain, v->domain) != 0)
		add_difference(v, "attached, but leased to domain %.100s; detach it from one of them", lease->name);
	else if (lease->state != LEASE_ACTIVE)
		add_difference(v, "attached, but its lease is '%s'; vgpu-leased corrects this",
			       lease_state_words[lease->state]);
}

static void running_and_open(struct compare *v)
{
	if (!v->lease && !v->exists)
		add_difference(v, "attached, but the device does not exist; shut the domain down and start it again");
	if (v->open < 0)
		add_difference(v, "cannot tell which process has it open; run as root");
	else if (v->exists && v->open == 0 && v->exiting)
		add_difference(
			v,
			"attached, but its QEMU (%d) is exiting and has not closed it yet; if this lasts, its driver hangs (see dmesg)",
			(int)v->qemu);
	else if (v->exists == PRESENT && v->open == 0)
		add_difference(
			v,
			"attached, but not open in any process; run 'vgpu-lease detach %s %s', or shut the domain down and start "
			"it again",
			v->name, v->id);
	else if (v->open > 0 && v->qemu && v->by != v->qemu)
		add_difference(v, "open in process %d instead of the domain's QEMU (%d); end that process", (int)v->by,
			       (int)v->qemu);
}

static void lease_and_absent(struct compare *v, bool own)
{
	if (own && v->open > 0)
		add_difference(
			v,
			"detached by libvirt, but still open in process %d; once that process ends, vgpu-leased or gc releases "
			"the vGPU",
			(int)v->by);
	else if (own && !v->runs)
		add_difference(v, "leased, but the domain is not running; %s", v->gc);
	else if (own && v->lease->state == LEASE_RELEASING)
		add_difference(v, "release pending; %s", v->gc);
	else if (v->taken)
		add_difference(v, "detached by a suspend; run 'vgpu-lease resume %s' to attach it again", v->name);
	else if (own)
		add_difference(v, "leased but not attached; run 'vgpu-lease detach %s %s' to release it", v->name,
			       v->id);
	else if (v->lease && v->config)
		add_difference(
			v,
			"named in the domain's definition, but leased to domain %.100s; use another UUID or VF for one of them",
			v->lease->name);
}

void compare_views(struct compare *v)
{
	bool own = v->lease && strcmp(v->lease->domain, v->domain) == 0;

	v->n = 0;
	if (v->live) {
		running_and_lease(v);
		running_and_open(v);
	} else {
		lease_and_absent(v, own);
	}
	if (own)
		lease_and_kernel(v);
}
