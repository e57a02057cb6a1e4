/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Domains that run without a vGPU that they are to have: their definition has it, or the record of a suspend.
 *
 * An instance of Nova can have lost it in its definition as well (the revert of a resize): then another instance of its
 * flavor that has a vGPU tells.
 *
 * From libvirt's files alone. A domain that came with another UUID than its definition has (a migration) misses
 * nothing:
 * it has as many vGPUs. What is attached to a definition for the next start, or detached from the guest alone, is
 * missing, too; nobody can tell that from a loss.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "config/config.h"
#include "base/err.h"
#include "base/ident.h"
#include "sys/sys.h"
#include "host/libvirt_files.h"
#include "state/lease_store.h"

enum { LACKING_NAME_SIZE = 512 };

struct missing_vgpu {
	char name[LACKING_NAME_SIZE]; /* of the domain */
	char id[ID_SIZE];             /* of the vGPU; "" not known */
	char like[LACKING_NAME_SIZE]; /* then: an instance of Nova of the same flavor, which has one */
	bool nova;                    /* an instance of Nova */
	bool suspended;               /* 'vgpu-lease suspend' took it, and 'vgpu-lease resume' attaches it */
};

/* `config` NULL: of PCI devices only those count that the metadata name. The caller frees *out. */
void missing_vgpus(struct missing_vgpu **out, size_t *n, const struct libvirt_files *disk, const struct host *host,
		   const struct config *config, const struct leases *leases);
