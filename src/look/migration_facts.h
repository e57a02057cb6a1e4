/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The facts about each vGPU that travel with its domain, and that the target of a migration reads before QEMU runs.
 * Metadata must be printable ASCII, so a fact with other characters is left out.
 */
#pragma once

#include <stdbool.h>

#include "domain/domxml.h"
#include "look/inventory.h"
#include "look/world.h"
#include "state/lease_store.h"

/* The facts of an existing vGPU. False, with all facts "": it does not exist or has no type yet. */
bool migration_facts_device(struct migration_facts *facts, const struct inventory *inv, const char *id);

/* The facts of a vGPU of this type on `card` (NULL: its parent is no longer registered). */
void migration_facts_type(struct migration_facts *facts, const struct inventory *inv, const struct inv_pgpu *card,
			  const char *type);

/* Builds the domain's lease element (domxml_lease()) with the facts of its leased vGPUs. NULL: nothing would change. */
char *migration_facts_element(const struct domxml *doc, const struct inventory *inv, const struct leases *leases);

/*
 * Predicts the facts for a definition, whose card is not chosen yet: the facts that all possible cards share. A type in
 * the metadata takes precedence. False, with all facts "": no card of the pool can provide the vGPU. `world` must have
 * a configuration, and have read all types.
 */
bool migration_facts_predict(struct migration_facts *facts, struct world *world, const struct vgpu_request *req);

/* Clears the facts that differ from `other`, for a vGPU that may be created on either of two pGPUs. */
void migration_facts_common(struct migration_facts *facts, const struct migration_facts *other);
