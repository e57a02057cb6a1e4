/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The vGPUs of a domain that runs: one more, one less, all of them out of the way while it is suspended.
 *
 * libvirt calls no hook for these, so this does what the hook does for a start and an end: it leases and creates before
 * libvirt is asked to attach, and releases when QEMU has closed the device. If it is killed in between, the domain's
 * release, the handler or `vgpu-lease detach` ends the lease. The domain can be released at any time.
 *
 * A suspend first writes what it will detach into the running domain's metadata (domxml.h), which is saved with it: a
 * resume undoes an interrupted suspend, and can be repeated.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "config/config.h"
#include "domain/domxml.h"
#include "base/err.h"
#include "sys/sys.h"
#include "state/lease_store.h"
#include "state/store.h"
#include "virt/virt.h"

struct hotplug {
	const struct host *host;
	struct store *store;         /* opened to be written, unless dry_run */
	const struct config *config; /* NULL: none; then only what exists can be attached */
	const struct policy *policy; /* the configuration's, or the defaults */
	const char *uri;             /* of libvirt, NULL its default */
	FILE *dry_run;               /* attach and detach only print there what they would do; NULL: they do it */
	struct virt *virt;
	struct virt_domain domain; /* as it was found */
	int64_t found_ms;          /* CLOCK_MONOTONIC before that: a lease that is younger has nothing to do with it */
};

/* Connects, and finds the domain by its name or UUID. hotplug_close() also after a failure. */
int hotplug_open(struct hotplug *hp, const char *domain, struct err *err);
void hotplug_close(struct hotplug *hp);

/*
 * Leases a vGPU of a type (its id, name or class; NULL the pool's only one), makes it and attaches it to the running
 * domain, with `persistent` to its definition, too. After a failure nothing is left of it, but where libvirt went away
 * before it answered: then the lease stays, and the text says so. *lease is what it has.
 */
int hotplug_attach(struct hotplug *hp, const char *type, bool persistent, struct lease *lease, struct err *err);

/*
 * Takes a vGPU from the running domain, with `persistent` from its definition, too, and releases it. -EAGAIN,
 * -ETIMEDOUT: the guest did not let go, all is as it was.
 */
int hotplug_detach(struct hotplug *hp, const char *id, bool persistent, struct err *err);

/*
 * Takes all vGPUs from the running domain, releases them and saves it; *n is how many they were. After a failure it
 * has them again.
 */
int hotplug_suspend(struct hotplug *hp, size_t *n, struct err *err);

/*
 * Leases again what hotplug_suspend() took, starts the saved domain and attaches it. Without capacity the domain stays
 * saved. If it runs already, having been started by hand: attaches what is missing.
 */
int hotplug_resume(struct hotplug *hp, size_t *n, struct err *err);
