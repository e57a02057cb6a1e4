/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Finds domains that run without a vGPU of their definition or suspend record, by libvirt's files.
 *
 * If Nova reverts a resize, the definition can lose the vGPU as well. The loss shows only if another instance of the
 * same flavor has a vGPU. After a migration, the vGPUs of a domain can have other UUIDs than in its definition; if the
 * number is the same, none is missing. A vGPU that was attached only to the definition, or detached only from the
 * guest, counts as missing.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "config/config.h"
#include "base/ident.h"
#include "sys/sys.h"
#include "host/libvirt_files.h"
#include "state/lease_store.h"

enum { MISSING_NAME_SIZE = 512 };

struct missing_vgpu {
	char name[MISSING_NAME_SIZE]; /* of the domain */
	char uuid[UUID_SIZE];         /* of the domain; "" if the ID is not known */
	char id[ID_SIZE];             /* of the vGPU; "": not known */
	char like[MISSING_NAME_SIZE]; /* if the ID is not known: a Nova instance of the same flavor that has a vGPU */
	bool nova;                    /* the domain is an instance of Nova */
	bool suspended;               /* 'vgpu-lease suspend' detached it, and 'vgpu-lease resume' attaches it */
};

/* `config` NULL: PCI devices count only if the metadata names them. The caller frees *out. */
void missing_vgpus(struct missing_vgpu **out, size_t *n, const struct libvirt_files *disk, const struct host *host,
		   const struct config *config, const struct leases *leases);
