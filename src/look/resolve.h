/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Finds which types a request can have on this host, and whether its vGPU must change its framework.
 *
 * If the device does not exist, its type comes from the first of these sources that has a type: the metadata, the
 * mdevctl definition, the last lease on this host (if the type is still enabled), the plan.
 *
 * resolve_types() and resolve_framework() return frameworks (INV_...) whose type names are needed. Read these into
 * world->names and call the function again. 0: done; if `refusal` is not empty, the request is refused.
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
 * Call after resolve_types() for a start: of several types, the reservation's type goes first. If the domain asks for
 * no type, it is the only one.
 */
void resolve_reserved(struct resolved_request *resolved, const struct lease *reservation);

/*
 * If this host has a migrating mdev's type only on VFs, changes the request to any VF. In the reverse case, changes a
 * VF to any mdev. Refuses if cross_framework or migrate_uuid forbids the change, or if libvirt is older than 11.0.
 */
unsigned int resolve_framework(struct vgpu_request *req, const struct world *world, char refusal[RESOLVE_REFUSAL]);
