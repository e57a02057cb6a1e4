/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Migration facts of a domain's vGPUs, in its metadata, where the target of a migration reads them before QEMU runs. */
#pragma once

#include "base/err.h"
#include "domain/domxml.h"
#include "host/inventory.h"
#include "state/lease_store.h"
#include "state/store.h"
#include "virt/virt.h"

/* A snapshot of what this host knows about leased vGPUs. */
struct host_facts {
	struct inventory inv;
	struct leases leases;
};

/* Call host_facts_free() even after a failure. */
int host_facts_read(struct host_facts *facts, const struct store *store, struct err *err);
void host_facts_free(struct host_facts *facts);

#define autofacts __attribute__((cleanup(host_facts_free)))

/* Writes the facts of the domain's leased vGPUs to the side with XML `doc`. Returns 1, 0 (none missing) or an error. */
int migration_facts_write(struct virt *virt, const struct host_facts *facts, const struct domxml *doc,
			  const char *domain, unsigned int side, struct err *err);
