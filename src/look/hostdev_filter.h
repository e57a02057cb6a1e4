/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Decides which PCI hostdevs of a domain are our vGPUs, from the configuration and the device. A device that is not
 * ready now can be ours. If the pool cannot have VFs, the devices are not read, so other hostdevs cost little time.
 *
 * Also decides which UUIDs are placeholders. Operators number real mdevs by hand, so a UUID in placeholder form is real
 * if it has a device, a definition, a lease, or a record of an earlier lease. A UUID is also real if one of these
 * cannot be read.
 */
#pragma once

#include <stdbool.h>

#include "sys/sys.h"
#include "config/config.h"
#include "domain/domxml.h"
#include "look/inventory.h"
#include "state/store.h"

/* Can this configuration put VFs in the pool? True if it is not valid; false if it is NULL. */
bool hostdev_filter_possible(const struct config *config);

/* Does this domain (NULL: any domain) have a lease? False if the leases cannot be read. */
bool hostdev_filter_leased(const struct host *host, const char *domain);

/*
 * Drops the PCI hostdevs that are not ours from the document's request. Unless `host` is NULL, also decides which UUIDs
 * are placeholders. A device that `leases` (may be NULL) has for the domain is ours, even if the configuration has
 * changed. A hostdev that the metadata names is ours, but a plain VF only with a valid `config` (may be NULL). If
 * `config` is not valid, every VF that takes a type is ours.
 */
void hostdev_filter_keep(struct domxml *doc, const struct host *host, const struct config *config,
			 const struct leases *leases);

/*
 * Refuses (-EPERM) a hostdev that is not ours if its address had a vGPU of ours, and now belongs to another device. The
 * bus numbers have shifted, and libvirt would take that device from the host. Call this before hostdev_filter_keep().
 */
int hostdev_filter_refuse_other(const struct request *request, const struct host *host, const struct config *config,
				struct err *err);

/*
 * Calls hostdev_filter_keep() for a document that was parsed with all PCI hostdevs. Returns:
 *   1: the domain has vGPUs
 *   0: the domain has no vGPUs
 *   -EPERM (only if `starts` is true): hostdev_filter_refuse_other() refuses a hostdev, or a running domain uses a vGPU
 *   of a hostdev (a pGPU, or a VF with an mdev). To unbind its driver, libvirt would wait for that domain forever.
 */
int hostdev_filter_request(struct domxml *doc, const struct host *host, const struct config *config, bool starts,
			   struct err *err);

/* Decides which UUIDs are placeholders. Needed, unless hostdev_filter_keep() is called, before `any` is read. */
void placeholder_settle(struct domxml *doc, const struct host *host);

/*
 * For commands that check a definition; a start does not warn. Warns about PCI hostdevs that are probably mistakes, and
 * about vGPUs in <qemu:commandline>. `doc` must be parsed with DOMXML_ALL_PCI, and not filtered by
 * hostdev_filter_keep() yet. `inv` must have all cards and the configuration; NULL: not known.
 */
void remark_hostdevs(struct remarks *out, const struct domxml *doc, const struct host *host,
		     const struct inventory *inv);

/* Warns about metadata without effect on this host. */
void remark_domain(struct remarks *out, const struct domxml *doc, const struct host *host);
