/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What travels with a domain of each of its vGPUs: the type's id and name, the framework, the pGPU's model, the
 * driver's version. The target of a migration reads it before QEMU runs.
 *
 * Pure: told from an inventory. What is no printable ASCII, as metadata must be, counts as not known.
 */
#pragma once

#include <stdbool.h>

#include "domain/domxml.h"
#include "host/inventory.h"
#include "state/lease_store.h"

/* A vGPU that exists; false, and all of it "", where it does not, or has no type yet. */
bool migration_facts_device(struct migration_facts *facts, const struct inventory *inv, const char *id);

/* A vGPU of this type on this pGPU; NULL: its parent is not registered any more. */
void migration_facts_type(struct migration_facts *facts, const struct inventory *inv, const struct inv_pgpu *card,
			  const char *type);

/*
 * The domain's lease element with the facts of what is leased to it; see domxml_lease(). NULL where all of it is there
 * already. The caller frees it.
 */
char *migration_facts_element(const struct domxml *doc, const struct inventory *inv, const struct leases *leases);

/* Leaves what the two have in common: of a vGPU that may come to be on either pGPU. */
void migration_facts_common(struct migration_facts *facts, const struct migration_facts *other);
