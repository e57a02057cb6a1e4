/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Domains that run without a vGPU that their definition, or the record of a suspend, contains.
 *
 * The definition of a Nova instance can have lost the vGPU too (the revert of a resize). Then an instance of the same
 * flavor that has a vGPU shows the loss.
 *
 * Only libvirt's files are read. A domain whose vGPUs have other UUIDs than in its definition (after a migration)
 * misses nothing if it has as many. A vGPU that was attached for the next start only, or detached from the guest only,
 * counts as missing: it cannot be distinguished from a loss.
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
	char id[ID_SIZE];             /* of the vGPU; "": not known */
	char like[LACKING_NAME_SIZE]; /* if the ID is not known: a Nova instance of the same flavor that has a vGPU */
	bool nova;                    /* the domain is an instance of Nova */
	bool suspended;               /* 'vgpu-lease suspend' detached it, and 'vgpu-lease resume' attaches it */
};

/* `config` NULL: only PCI devices that the metadata name count. The caller frees *out. */
void missing_vgpus(struct missing_vgpu **out, size_t *n, const struct libvirt_files *disk, const struct host *host,
		   const struct config *config, const struct leases *leases);
