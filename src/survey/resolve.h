/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a domain wishes, told from all that is known: the types its devices may have, where they were, which NUMA
 * nodes suit.
 *
 * The type of a device that does not exist is, in this order: the metadata's; that of its mdevctl definition; the one
 * that it had when it was last leased here, if it is still enabled. Else it is left to the plan, which knows what the
 * pool has cards for.
 */
#pragma once

#include "plan/plan.h"

/*
 * One for each want of the request; the caller frees it. -ENOENT: a type that is asked for is known neither here nor
 * to the pool: the known ones are listed.
 */
int resolve_make(struct resolved_request **out, const struct request *request, const struct config *config,
		 const struct host *host, const struct store *store, struct err *err);

/* The frameworks (INV_...) whose devices a hostdev of this kind can be. */
unsigned int resolve_frameworks(const struct vgpu_request *req);

/*
 * The ids that the wishes name, those that the leases hold, and with a configuration (NULL: without) those that it
 * enables, for inventory_read(); NULL-terminated, in one allocation, the caller frees it.
 */
const char **resolve_types(const struct resolved_request *resolved_requests, size_t n, const struct leases *leases,
			   const struct config *config);
