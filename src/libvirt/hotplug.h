/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The vGPUs of a running domain: attach one, detach one, or detach all while it is suspended.
 *
 * libvirt calls no hook for a hotplug, so the command leases and creates a vGPU before libvirt attaches it, and
 * releases it after QEMU has closed it. If the command is killed, the domain's release, the handler or `vgpu-lease
 * detach` ends the lease. The domain's release can run even during a hotplug.
 *
 * A suspend records the vGPUs in the running domain's metadata (domxml.h) before it detaches them, and libvirt saves
 * the metadata. So a resume can undo an interrupted suspend, and can be repeated.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "config/config.h"
#include "act/lifecycle.h"
#include "domain/domxml.h"
#include "base/err.h"
#include "sys/sys.h"
#include "state/store.h"
#include "libvirt/virt.h"

struct hotplug {
	const struct host *host;
	struct store *store;         /* writable; with dry_run, possibly read-only */
	const struct config *config; /* if it is not valid, only existing devices can be attached */
	const char *uri;             /* libvirt's; NULL: its default */
	FILE *dry_run;               /* attach and detach only print here what they would do; NULL: they do it */
	struct virt *virt;
	struct virt_domain domain; /* as hotplug_open() found it */
	struct work_locks work;    /* of the leased vGPUs, until they are attached or released */
	int64_t asked_ms; /* when the command last looked, leased or saved; a lease written later is another call's */
	const char *operand; /* text_operand() of the domain */
};

/* Connects, and finds the domain by name or UUID. Call hotplug_close() even after a failure. */
int hotplug_open(struct hotplug *hp, const char *domain, struct err *err);
void hotplug_close(struct hotplug *hp);

/* Parses the domain's XML, which must outlive *doc, and keeps the hostdevs that are vGPUs. */
int hotplug_parse(const struct hotplug *hp, const char *xml, struct domxml **doc, struct err *err);

/*
 * Leases and creates a vGPU of a type (an ID or a class; NULL: the pool's only one), and attaches it to the running
 * domain; with `persistent`, also to its definition. *lease is the new lease. A failure leaves nothing behind, but if
 * the connection is lost before libvirt answers, the lease stays and the error says so.
 */
int hotplug_attach(struct hotplug *hp, const char *type, bool persistent, struct lease *lease, struct err *err);

/*
 * Detaches a vGPU from the running domain and releases it; with `persistent`, also from its definition. Returns:
 *   0: released
 *   -EPERM: the domain is not running
 *   -ENOENT: the vGPU is neither attached nor leased to the domain; -EBUSY: another process attaches it or has it open
 *   -ETIMEDOUT: the guest has not released it, so nothing has changed; or, as the text says, it is detached, but its
 *   release is not finished
 *   other: libvirt's error, or that of the release
 */
int hotplug_detach(struct hotplug *hp, const char *id, bool persistent, struct err *err);

/*
 * Detaches all vGPUs of the running domain, saves it, and releases them; *n is their number. If a detach or the save
 * fails, attaches them again. An error can also mean that a vGPU of the saved domain is not released yet.
 */
int hotplug_suspend(struct hotplug *hp, size_t *n, struct err *err);

/*
 * Leases what hotplug_suspend() detached, starts the saved domain, and attaches the vGPUs. Without capacity, the domain
 * stays saved. If the domain already runs, attaches the missing vGPUs.
 */
int hotplug_resume(struct hotplug *hp, size_t *n, struct err *err);

/* compare.c: where libvirt, the lease and the kernel differ about one vGPU of a domain. A pure function. */
enum { COMPARE_MAX = 5 }; /* no more differences are possible at once */

struct compare {
	const char *id;
	const char *domain, *name; /* the domain's UUID, and its name in commands (text_operand()) */
	bool runs;
	bool live, config;         /* the running XML names the vGPU; the definition names it */
	bool taken;                /* detached by a suspend, so the domain runs without it */
	const struct lease *lease; /* of any domain; NULL: none */
	enum presence exists;
	const char *type, *parent; /* as in the kernel; "": unknown */
	int open;                  /* 1: open; 0: not open; negative: unknown */
	pid_t by;                  /* the process that has it open */
	pid_t qemu;                /* the domain's process; 0: unknown */
	const char *gc;            /* a clause of a message: how or when the lease will be released, or why it stays */
	bool exiting;              /* `qemu` is exiting, and the kernel still closes its files */
	/* The result: sentences, each with the likely cause or the fix. */
	char differences[COMPARE_MAX][REASON_SIZE];
	size_t n;
};

void compare_views(struct compare *view);
