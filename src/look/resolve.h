/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which types a request can have on this host, and whether its vGPU must change its framework.
 *
 * The type of a device that does not exist comes from the first of these that has one: the metadata, its mdevctl
 * definition, its last lease here (if still enabled), the plan.
 *
 * resolve_types() and resolve_framework() return the frameworks whose type names (world->names) must be read before the
 * next call, or 0 when done. If `refusal` is not empty, the request is refused.
 */
#pragma once

#include "look/world.h"

enum { RESOLVE_REFUSAL = 1024 };

/* The frameworks (INV_...) whose vGPUs a hostdev of this kind can have. */
unsigned int resolve_frameworks(const struct vgpu_request *req);

/* True if the type is one of the request's types, or the request has none. */
bool resolve_fits(const struct resolved_request *resolved, const char *type);

/* Sets the types of a request. On entry, `resolved` has the type of the definition or last lease, if any. */
unsigned int resolve_types(struct resolved_request *resolved, const struct world *world, char refusal[RESOLVE_REFUSAL]);

/*
 * If this host has a migrating mdev's type only on VFs, changes the request to any VF, and the reverse for a VF.
 * Refuses if the policy (cross_framework) forbids the change. libvirt allows the change since 11.0.
 */
unsigned int resolve_framework(struct vgpu_request *req, const struct world *world, char refusal[RESOLVE_REFUSAL]);
