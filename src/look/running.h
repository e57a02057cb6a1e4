/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The running domains, their vGPUs, and the vGPUs that a suspend has detached. All come from libvirt's status files,
 * because libvirt itself does not answer while a hook or a QEMU keeps it busy.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "domain/domxml.h"
#include "look/libvirt_files.h"

struct running_domain {
	char uuid[UUID_SIZE];
	struct libvirt_file live; /* its status file; `text` is only the <domain> element */
	struct domxml *doc;       /* the live XML with all PCI hostdevs; NULL: no mdev or PCI hostdev, or invalid */
	struct domxml *suspended; /* the suspend record in the live XML; NULL: none, or invalid */
	const struct request *request; /* the vGPUs in the live XML; NULL: invalid, so any vGPU is possible */
	const struct request *taken;   /* the vGPUs in `suspended`; NULL: none */
	bool settled;                  /* no start, migration, save or shutdown is in progress */
};

struct running {
	struct running_domain *list;
	size_t n;
};

/* `disk` must outlive `running`. Skips a file without a readable UUID, which libvirt_files_runs() may still find. */
void running_read(struct running *running, const struct libvirt_files *disk);
void running_free(struct running *running);

/* NULL: the domain does not run, or `running` is NULL. */
const struct running_domain *running_find(const struct running *running, const char *uuid);
