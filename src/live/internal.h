/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the files of hotplug share; nobody else includes this. */
#pragma once

#include "live/hotplug.h"

/* Leases and makes what the request asks for, all or nothing; `op` is for the log. The connection is a new one then. */
int hotplug_lease(struct hotplug *hp, const struct request *request, const char *op, struct err *err);

/* A vGPU to be attached: its ID, and the XML with which libvirt attaches it. */
struct hotplug_choice {
	char id[ID_SIZE], xml[512];
};

/*
 * Leases and creates one more vGPU of a type (NULL: the only one) for a domain: an mdev, or where only VFs provide the
 * type, one that is free.
 */
int hotplug_choose(struct hotplug *hp, const struct request *domain, const char *type, struct hotplug_choice *choice,
		   struct err *err);

/*
 * Releases the domain's lease of this vGPU, if it had it at `asked_ms` (CLOCK_MONOTONIC): a younger one is another
 * command's. A lease that has been released meanwhile is no error.
 */
int hotplug_unlease(struct hotplug *hp, const struct policy *policy, const char *id, int64_t asked_ms, struct err *err);

/* One side of the running domain as it is now: its XML, and the document, with all PCI hostdevs. */
int hotplug_read(struct hotplug *hp, unsigned int side, char **xml, struct domxml **doc, struct err *err);

/* Writes the migration facts of the domain's vGPUs to this side of it. */
int hotplug_write_facts(struct hotplug *hp, unsigned int side, struct err *err);

/* The domain's vGPUs, as this XML of it has them. */
int hotplug_parse(struct hotplug *hp, const char *xml, struct domxml **doc, struct err *err);

/* Attaches what was leased; what libvirt refuses is released. */
int hotplug_plug(struct hotplug *hp, const char *id, const char *xml, unsigned int sides, struct err *err);

/* Takes a request of the running domain's XML from it, and waits until QEMU has let go. */
int hotplug_unplug(struct hotplug *hp, const struct domxml *doc, size_t req, struct err *err);
