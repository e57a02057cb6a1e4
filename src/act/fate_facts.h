/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Collects the facts on which the fate of a lease, device or definition depends, and calls fate.h to decide it. */
#pragma once

#include "decide/fate.h"
#include "look/mdevctl_files.h"
#include "look/running.h"
#include "look/vfio_users.h"
#include "look/world.h"

struct fate_look {
	const struct world *world;     /* with `users` and `disk`; if it is wide, fate.free is set for every device */
	bool note;                     /* record signs of use, and when a device was first seen free */
	bool unused;                   /* devices that were not made for a guest may also be removed */
	const struct running *running; /* the running domains with their devices; NULL: only `disk` is searched */
	const struct leases *seen;     /* leases whose domain had the device at this or an earlier look; NULL: none */
};

void fate_lease(struct fate *fate, const struct fate_look *look, const struct lease *lease, enum presence exists);

/*
 * For a device without a lease (`node`: inv_device.node) or, if `alone` is set, for a definition of Nova's without a
 * device. Nova counts the definition as a device, and nova-compute does not start if the pGPU has no capacity for it.
 * Needs a valid configuration.
 */
void fate_orphan(struct fate *fate, const struct fate_look *look, const struct vgpu_ref *vgpu, uint64_t node,
		 const struct definition *alone);

/* Does Nova own this foreign device or definition? Only with a nova.conf; then its parent and type decide. */
bool fate_is_novas(const struct fate_look *look, const struct vgpu_ref *vgpu);

/*
 * Does the XML of a domain other than `but` name `id`? NULL: no; else `why`, with the domain or a read error. With
 * look->note, a name restarts the idle time: while Nova redefines the domain, no XML names the vGPU for a moment.
 */
const char *fate_named(const struct fate_look *look, const char *id, const char *but, char why[REASON_SIZE]);

/*
 * Marks in a wide `world` what can be removed to make capacity and, for the text of a refusal, what 'vgpu-lease retype'
 * could remove. Under the store's lock, records when each orphan was first seen free.
 */
void fate_mark(struct world *world);
