/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Migration facts about each vGPU travel in its domain's metadata. The target of a migration reads them before QEMU
 * runs. Metadata must be printable ASCII, so a fact with other characters is left out.
 */
#pragma once

#include <stdbool.h>

#include "domain/domxml.h"
#include "look/inventory.h"
#include "look/world.h"

/* Sets the facts of a vGPU of this type. `card`: its pGPU; NULL: the vGPU's parent is not registered any more. */
void migration_facts_type(struct migration_facts *facts, const struct inventory *inv, const struct inv_pgpu *card,
			  const char *type);

/* domxml_lease() with the facts of the domain's leased vGPUs that exist and have a type. NULL: nothing would change. */
char *migration_facts_element(const struct domxml *doc, const struct inventory *inv, const struct leases *leases);

/*
 * Predicts the facts that `rewrite` can write into a definition: those that all possible cards have in common. A type
 * in the metadata overrides the predicted type. False, and all facts are "": the type is unknown, or no card of the
 * pool can provide the vGPU. `world` needs a configuration and all types.
 */
bool migration_facts_predict(struct migration_facts *facts, struct world *world, const struct vgpu_request *req);

/* Clears each fact that differs from the fact of `other`. */
void migration_facts_common(struct migration_facts *facts, const struct migration_facts *other);
