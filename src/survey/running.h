/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The domains that libvirt runs, and the vGPUs that they have, by its status files, which it writes anew at every
 * change. libvirt itself does not answer while a hook or a QEMU keeps it busy.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "domain/domxml.h"
#include "host/libvirt_files.h"

struct running_domain {
	struct libvirt_file live; /* its status file, with the text of the <domain> */
	char uuid[UUID_SIZE];
	struct domxml *doc; /* its live XML, with all PCI hostdevs; NULL: it has none and no mdev, or is invalid */
	struct domxml *suspended;      /* the suspend record in that XML; NULL: none, or invalid */
	const struct request *request; /* of `doc`, or an empty one; NULL: invalid, so the domain may have any vGPU */
	const struct request *taken;   /* of `suspended` */
	bool settled;                  /* not in the middle of a start, a migration, a save or a shutdown */
};

struct running {
	struct running_domain *list;
	size_t n;
};

/* `disk` must outlive `running`. A file without a readable UUID is left out: libvirt_files_runs() may still find it. */
void running_read(struct running *running, const struct libvirt_files *disk);
void running_free(struct running *running);

/* Narrows the text of a status file to its <domain>, the domain's live XML. False: there is none. */
bool running_narrow(struct libvirt_file *status);

/* NULL: it does not run, or `running` is NULL. */
const struct running_domain *running_find(const struct running *running, const char *uuid);
