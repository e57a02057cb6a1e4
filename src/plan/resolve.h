/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which types a request can have on this host, and whether its vGPU must change its framework.
 *
 * The type of a device that does not exist comes from the metadata, else from its mdevctl definition, else from its
 * last lease here, if that type is still enabled. Otherwise the plan decides, because it knows for which types the pool
 * has cards.
 *
 * The names of the host's types (world->names) are read only on demand: resolve_types() and resolve_framework() return
 * the frameworks whose names they need.
 */
#pragma once

#include "plan/world.h"

enum { RESOLVE_REFUSAL = 1024 };

/* The frameworks (INV_...) whose vGPUs a hostdev of this kind can have. */
unsigned int resolve_frameworks(const struct vgpu_request *req);

/* True if the type is one of the request's types, or the request has none. */
bool resolve_fits(const struct resolved_request *resolved, const char *type);

/*
 * Sets the types of a request. On entry `resolved` has what the definition or last lease says, if any. Returns the
 * frameworks whose names must be read before the next call, or 0 when done, with `refusal` set if refused.
 */
unsigned int resolve_types(struct resolved_request *resolved, const struct world *world, char refusal[RESOLVE_REFUSAL]);

/*
 * If a migrating vGPU is an mdev on the source but its type's name exists here only for VFs, or the reverse, and the
 * policy allows the change (cross_framework), changes its request to any device of the other kind. libvirt allows the
 * change since 11.0, and QEMU decides whether the state fits. Returns and refuses like resolve_types().
 */
unsigned int resolve_framework(struct vgpu_request *req, const struct world *world, char refusal[RESOLVE_REFUSAL]);
