/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Finds which types a request can have on this host, and whether its vGPU must change its framework.
 *
 * If the device does not exist, its type comes from the first of these sources that has a type: the metadata, the
 * mdevctl definition, the reservation, the last lease on this host (if the type is still enabled), the plan. To resolve
 * types, the host's type names are read only if the metadata's type is not configured.
 */
#pragma once

#include "look/world.h"

/* The frameworks (INV_...) whose vGPUs a hostdev of this kind can have. */
unsigned int resolve_frameworks(const struct vgpu_request *req);

/*
 * Resolves the request in `world`. Can be called again for another request. Always call survey_end() afterwards.
 * -ENOENT: a type is unknown; -EPERM: a vGPU must not change its framework; other: an error of reading the host.
 */
int resolve_request(struct world *world, struct err *err);

/* Resolves one vGPU, without its NUMA nodes. -ENOENT: this host and the pool do not know the type. */
int resolve_vgpu(struct resolved_request *resolved, const struct vgpu_request *req, struct world *world,
		 struct err *err);

/* For a start: prefers the type of the domain's reservation to other types, and to that of the last lease. */
void resolve_reserved(struct resolved_request *resolved, const struct lease *reservation);

/*
 * If this host has a migrating mdev's type only on VFs, changes the request to any VF. In the reverse case, changes a
 * VF to any mdev. -EPERM: cross_framework or migrate_uuid forbids the change, or libvirt is older than 11.0.
 */
int resolve_framework(struct vgpu_request *req, struct world *world, struct err *err);
