/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which types a request may have on this host, and whether its vGPU must change its framework. Pure.
 *
 * The type of a device that does not exist comes from the metadata, else from its mdevctl definition, else from its
 * last lease here, if that type is still enabled. Otherwise the plan decides, because it knows for which types the pool
 * has cards.
 *
 * The names of the host's types are read only if the configuration does not know the word in the metadata; both
 * functions ask for them first.
 */
#pragma once

#include "plan/plan.h"

struct resolve_facts {
	const struct config *config; /* NULL: none */
	int libvirt;                 /* libvirt's version; 0: unknown */
	struct inv_name *names;
	size_t nnames;
	unsigned int known; /* the frameworks (INV_...) whose types are in `names` */
};

enum { RESOLVE_REFUSAL = 1024 };

/* The frameworks (INV_...) of the devices that a hostdev of this kind can be. */
unsigned int resolve_frameworks(const struct vgpu_request *req);

/*
 * Sets the types of a request. On entry `last_parent`, `source` and one type have what is remembered. Returns the
 * frameworks whose names must be read before another call, or 0: done, or refused for the reason in `refusal` (or "").
 */
unsigned int resolve_types(struct resolved_request *resolved, const struct resolve_facts *facts,
			   char refusal[RESOLVE_REFUSAL]);

/*
 * Turns the request of a vGPU that migrates here, and is an mdev on the source and a VF here or the reverse, into one
 * for any device of the other kind.
 *
 * libvirt allows the hostdev's type to change since 11.0, and leaves it to QEMU whether the state fits. The change is
 * made only if no type of the vGPU's own kind has the name, a type of the other kind has it, and the policy allows it
 * (cross_framework). Returns and refuses like resolve_types().
 */
unsigned int resolve_framework(struct vgpu_request *req, const struct resolve_facts *facts,
			       char refusal[RESOLVE_REFUSAL]);
