/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The migration facts of a domain's vGPUs, in the metadata that libvirt holds of it: the target of a migration reads
 * them before QEMU runs.
 */
#pragma once

#include "base/err.h"
#include "domain/domxml.h"
#include "host/inventory.h"
#include "state/lease_store.h"
#include "state/store.h"
#include "virt/virt.h"

/* What this host knows of leased vGPUs, as it is now. */
struct host_facts {
	struct inventory inv;
	struct leases leases;
};

/* host_facts_free() also after a failure. */
int host_facts_read(struct host_facts *facts, const struct store *store, struct err *err);
void host_facts_free(struct host_facts *facts);

/*
 * Writes the facts of each vGPU that is leased to the domain to this side of it, whose XML `doc` is: 1. 0: all of it is
 * there already.
 */
int migration_facts_write(struct virt *virt, const struct host_facts *facts, const struct domxml *doc,
			  const char *domain, unsigned int side, struct err *err);
