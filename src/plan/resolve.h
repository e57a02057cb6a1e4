/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which types a request may have on this host, and whether its vGPU has to change its framework for that. Pure.
 *
 * The type of a device that does not exist is, in this order: the metadata's; that of its mdevctl definition; the one
 * that it had when it was last leased here, if it is still enabled. Else it is left to the plan, which knows what the
 * pool has cards for.
 *
 * The names of the host's types are read only where the configuration does not know the metadata's word: until then
 * both functions ask for them.
 */
#pragma once

#include "plan/plan.h"

struct resolve_facts {
	const struct config *config; /* NULL: none */
	int libvirt;                 /* its version; 0 where it cannot be told */
	struct inv_name *names;
	size_t nnames;
	unsigned int known; /* the frameworks (INV_...) whose types are in `names` */
};

enum { RESOLVE_REFUSAL = 1024 };

/* The frameworks (INV_...) whose devices a hostdev of this kind can be. */
unsigned int resolve_frameworks(const struct vgpu_request *req);

/*
 * Sets the types of a request, for which `last_parent`, `source` and the one type say what is remembered of it. Returns
 * the frameworks whose names have to be read first, or 0: done, or refused with the reason in `refusal` ("" none).
 */
unsigned int resolve_types(struct resolved_request *resolved, const struct resolve_facts *facts,
			   char refusal[RESOLVE_REFUSAL]);

/*
 * A vGPU that migrates here, and is an mdev on the source and a VF here, or the other way round: the request becomes
 * one for any of the other kind.
 *
 * libvirt lets the hostdev change its type since 11.0, and leaves it to QEMU whether the state fits. Here it is asked
 * for only where nothing of the vGPU's own kind has its type's name, a device of the other kind has, and the policy
 * allows it (cross_framework). Returns and refuses as resolve_types() does.
 */
unsigned int resolve_framework(struct vgpu_request *req, const struct resolve_facts *facts,
			       char refusal[RESOLVE_REFUSAL]);
