/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Decides the fate (fate.h) of a lease, device or definition from what was read of the host (struct fate_look). */
#pragma once

#include "config/config.h"
#include "look/inventory.h"
#include "look/libvirt_files.h"
#include "look/mdevctl_files.h"
#include "look/vfio_users.h"
#include "decide/fate.h"
#include "look/running.h"
#include "state/store.h"

struct world;

struct fate_look {
	const struct store *store;
	const struct policy *policy; /* the configuration's, or the defaults */
	const struct config *config; /* NULL: no configuration is in effect */
	const struct inventory *inv;
	const struct vfio_users *users;
	struct libvirt_files *disk;
	int64_t looked_ms;  /* CLOCK_MONOTONIC, in ms, before the facts above were read */
	const char *asking; /* the requesting domain: that its own XML names a variant VF keeps no VF; NULL: none */
	bool note;          /* record signs of use, and when a device was first seen free */
	bool unused;        /* devices that were not made for a guest may also go */
	bool whole;         /* also find out whether a device is free if `reclaim` or its origin already keeps it */
	const struct running *running;  /* the running domains with their devices; NULL: only `disk` is searched */
	const struct lease_marks *seen; /* leases whose domain had the device at the last look; NULL: none */
};

/* `exists`: does the lease's device exist? */
void fate_lease(struct fate *fate, const struct fate_look *look, const struct lease *lease, enum presence exists);

/* The fate of a device without a lease. Needs a configuration. */
void fate_device(struct fate *fate, const struct fate_look *look, const struct inv_device *device);

/*
 * The fate of one of Nova's mdevctl definitions that has no device. Nova counts it as a device, and does not start if
 * the pGPU has no capacity for it. Needs a configuration.
 */
void fate_definition(struct fate *fate, const struct fate_look *look, const struct definition *definition);

/* Does Nova own this foreign device or definition? Its parent and type decide. */
bool fate_is_novas(const struct fate_look *look, const struct vgpu_ref *vgpu);

/*
 * Does the XML of a domain other than `but` (NULL: of any) name `id`? Returns NULL if not, else `why`: which domain, or
 * why that is not known. With look->note, being named restarts the idle time of `id`: Nova redefines a domain at its
 * start, and for a moment no XML names the vGPU.
 */
const char *fate_named(const struct fate_look *look, const char *id, const char *but, char why[REASON_SIZE]);

/*
 * Marks in a wide `world` what can be removed to make capacity: orphans, and leased devices whose domain is gone or
 * whose release is pending. For the text of a refusal, also marks what 'retype' could remove: it ignores reclaim and
 * reclaim_grace. Under the store's lock, records when each orphan was first seen free.
 */
void fate_mark(struct world *world);
