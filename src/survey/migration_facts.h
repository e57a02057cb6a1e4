/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The facts about each vGPU that travel with its domain: the type's ID and name, the framework, the pGPU's model, the
 * driver's version. The target of a migration reads them before QEMU runs.
 *
 * Pure: only an inventory is used. Metadata must be printable ASCII, so a fact with other characters is left out.
 */
#pragma once

#include <stdbool.h>

#include "domain/domxml.h"
#include "host/inventory.h"
#include "state/lease_store.h"

/* The facts of an existing vGPU. False, with all facts "": it does not exist or has no type yet. */
bool migration_facts_device(struct migration_facts *facts, const struct inventory *inv, const char *id);

/* The facts of a vGPU of this type on `card` (NULL: its parent is no longer registered). */
void migration_facts_type(struct migration_facts *facts, const struct inventory *inv, const struct inv_pgpu *card,
			  const char *type);

/*
 * The domain's lease element with the facts of its leased vGPUs; see domxml_lease(). NULL: nothing would change. The
 * caller frees it.
 */
char *migration_facts_element(const struct domxml *doc, const struct inventory *inv, const struct leases *leases);

/* Clears the facts that differ from `other`, for a vGPU that may be created on either of two pGPUs. */
void migration_facts_common(struct migration_facts *facts, const struct migration_facts *other);
