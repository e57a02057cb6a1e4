/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The facts of a domain's vGPUs, put into the metadata that libvirt holds of it: the target of a migration reads them
 * before QEMU runs.
 */
#pragma once

#include "base/err.h"
#include "state/store.h"
#include "virt/virt.h"

/* Writes what is known of each vGPU that is leased to the domain to this side of it, where it is not there already. */
int migration_facts_live(struct virt *virt, const struct store *store, const char *domain, unsigned int side,
			 struct err *err);
