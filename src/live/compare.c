/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where libvirt, the lease, the kernel and QEMU differ about a vGPU. */
#include "live/compare.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void say(struct compare *v, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void say(struct compare *v, const char *fmt, ...)
{
	va_list ap;

	if (v->n == COMPARE_MAX)
		return;
	va_start(ap, fmt);
	vsnprintf(v->differences[v->n++], REASON_SIZE, fmt, ap);
	va_end(ap);
}

static void lease_and_kernel(struct compare *v)
{
	const struct lease *lease = v->lease;

	if (!lease || lease->state == LEASE_RESERVED || lease->state == LEASE_CREATING)
		return;
	if (!v->exists) {
		say(v, "it is leased, but the kernel has no such device: %s",
		    v->runs ? "shut the domain down and start it again" : "'vgpu-lease gc' drops the lease");
		return;
	}
	if (*v->type && strcmp(lease->vgpu.type, v->type) != 0)
		say(v,
		    "it is leased as %.60s, and the kernel has a %.60s: somebody has made it anew; 'vgpu-lease release' drops the "
		    "lease once the domain is shut down",
		    lease->vgpu.type, v->type);
	if (*v->parent && strcmp(lease->vgpu.parent, v->parent) != 0)
		say(v,
		    "it is leased on %.50s, and the kernel has it on %.50s: somebody has made it anew; 'vgpu-lease release' "
		    "drops the lease once the domain is shut down",
		    lease->vgpu.parent, v->parent);
}

static void running_and_lease(struct compare *v)
{
	const struct lease *lease = v->lease;

	if (!lease)
		say(v, "the domain has it, and it is in no lease: 'vgpu-leased' records what others attach");
	else if (strcmp(lease->domain, v->domain) != 0)
		say(v, "the domain has it, and it is leased to domain %.100s: detach it from one of the two",
		    lease->name);
	else if (lease->state != LEASE_ACTIVE)
		say(v, "the domain runs with it, but its lease says '%s': 'vgpu-leased' or its next start mends that",
		    lease_state_word(lease->state));
}

static void running_and_open(struct compare *v)
{
	if (!v->lease && !v->exists)
		say(v, "the domain has it, but the kernel has no such device: shut the domain down and start it again");
	if (v->open < 0)
		say(v, "which process has it open cannot be told: run as root");
	else if (v->exists && v->open == 0)
		say(v,
		    "no process has it open, but the domain runs with it: 'vgpu-lease show --qemu' tells whether QEMU has it; if "
		    "not, 'vgpu-lease detach', or shut the domain down and start it again");
	else if (v->open > 0 && v->qemu && v->by != v->qemu)
		say(v, "process %d has it open, and not the domain's QEMU (%d): end that process", (int)v->by,
		    (int)v->qemu);
	if (!v->shown)
		return;
	if (!*v->shown)
		say(v, "QEMU has no such device: 'vgpu-lease detach', or shut the domain down and start it again");
	else if (!strstr(v->shown, v->id))
		say(v, "QEMU has %.120s in its place: shut the domain down and start it again", v->shown);
}

/* The domain has not got it, and the lease is its own. */
static void leased_and_absent(struct compare *v)
{
	if (v->open > 0)
		say(v,
		    "libvirt has taken it from the domain, but process %d has it open: it is given back when that ends",
		    (int)v->by);
	else if (!v->runs)
		say(v, "the domain does not run, and holds its lease: 'vgpu-lease gc' gives it back");
	else if (v->lease->state == LEASE_RELEASING)
		say(v, "it waits to be given back: 'vgpu-lease gc' does that");
	else if (v->taken)
		say(v, "a suspend took it from the domain: 'vgpu-lease resume' attaches it again");
	else
		say(v, "it is leased, and the domain has not got it: 'vgpu-lease detach' gives it back");
}

void compare(struct compare *v)
{
	bool own = v->lease && strcmp(v->lease->domain, v->domain) == 0;

	v->n = 0;
	if (v->live) {
		running_and_lease(v);
		running_and_open(v);
	} else if (own) {
		leased_and_absent(v);
	} else if (v->lease && v->config) {
		say(v,
		    "the domain's definition names it, and it is leased to domain %.100s: give one of them another UUID or VF",
		    v->lease->name);
	}
	if (own)
		lease_and_kernel(v);
}
