/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The domains that libvirt runs, the vGPUs that they have, and those taken by a suspend, from the status files that
 * libvirt rewrites at every change. libvirt itself does not answer while a hook or a QEMU keeps it busy.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "config/config.h"
#include "domain/domxml.h"
#include "look/libvirt_files.h"
#include "state/lease_store.h"

struct running_domain {
	char uuid[UUID_SIZE];
	struct libvirt_file live; /* its status file; `text` is only the <domain> element */
	struct domxml *doc; /* its live XML, with all PCI hostdevs; NULL: no vGPU and no PCI hostdev, or invalid */
	struct domxml *suspended;      /* the suspend record in the live XML; NULL: none, or invalid */
	const struct request *request; /* the vGPUs in the live XML; NULL: invalid, so the domain may have any vGPU */
	const struct request *taken;   /* the vGPUs in `suspended`; NULL: none */
	bool settled;                  /* not in the middle of a start, a migration, a save or a shutdown */
};

struct running {
	struct running_domain *list;
	size_t n;
};

/* `disk` must outlive `running`. A file without a readable UUID is left out: libvirt_files_runs() may still find it. */
void running_read(struct running *running, const struct libvirt_files *disk);
void running_free(struct running *running);

/* NULL: the domain does not run, or `running` is NULL. */
const struct running_domain *running_find(const struct running *running, const char *uuid);

/* A vGPU that is missing from a running domain. The texts last as long as the call that reports it. */
struct missing_vgpu {
	const char *name; /* the domain's name */
	const char *uuid; /* the domain's UUID */
	const char *id;   /* the vGPU's ID; NULL: not known */
	const char *like; /* if `id` is NULL, a Nova instance of the same flavor that has a vGPU */
	bool nova;        /* the domain is an instance of Nova */
	bool suspended;   /* 'vgpu-lease suspend' has detached the vGPU; 'vgpu-lease resume' attaches it */
};

typedef void missing_say(void *arg, const struct missing_vgpu *missing);

/*
 * Reports each vGPU of a running domain's definition or suspend record that the domain does not have. `config` NULL:
 * PCI devices count only if the metadata names them.
 *
 * If Nova reverts a resize, the definition can lose the vGPU too. That is noticed only if another instance of the same
 * flavor has a vGPU. After a migration, the vGPUs of a domain can have other UUIDs than in its definition; if there are
 * equally many, no vGPU is missing. A vGPU that was attached only to the definition, or detached only from the guest,
 * counts as missing.
 */
void running_missing(const struct libvirt_files *disk, const struct host *host, const struct config *config,
		     const struct leases *leases, missing_say *say, void *arg);
