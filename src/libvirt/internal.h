/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What hotplug.c and hotplug_suspend.c share. */
#pragma once

#include "libvirt/hotplug.h"

/* Leases and creates all vGPUs of the request, or none, and connects to libvirt again. `op` is for the log. */
int hotplug_lease(struct hotplug *hp, const struct request *request, const char *op, struct err *err);

/* Leases and creates one more vGPU of a type (NULL: the only): a free VF if only VFs provide it, else a new mdev. */
int hotplug_choose(struct hotplug *hp, const struct request *domain, const char *type, struct vgpu_request *req,
		   struct err *err);

/* Makes the hostdev of a vGPU from hotplug_choose(), which the caller frees. */
char *hotplug_hostdev(const struct vgpu_request *req);

/*
 * Releases the domain's lease of this vGPU, if any. Keeps a lease that is younger than `asked_ms` and not `releasing`.
 * `used` false: no guest has used the vGPU, so driver_cleanup does not apply.
 * 0: released, or there was nothing to release; negative: as release_now().
 */
int hotplug_unlease(struct hotplug *hp, const char *id, bool used, struct err *err);

/* Reads one side of the domain, VIRT_LIVE or VIRT_CONFIG: its XML, and the document as hotplug_parse() makes it. */
int hotplug_read(struct hotplug *hp, unsigned int side, char **xml, struct domxml **doc, struct err *err);

/* Writes the migration facts of the domain's vGPUs to this side. */
int hotplug_write_facts(struct hotplug *hp, unsigned int side, struct err *err);

/* Attaches a leased vGPU. Releases it if libvirt refuses, but not if the connection is lost. */
int hotplug_plug(struct hotplug *hp, const char *id, const char *xml, unsigned int sides, struct err *err);

/* Detaches the vGPU. Returns as virt_detach_wait(). */
int hotplug_unplug(struct hotplug *hp, const struct domxml *doc, const struct vgpu_request *req, struct err *err);
