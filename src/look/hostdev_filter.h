/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Decides from the configuration and the device which PCI hostdevs of a domain are our vGPUs, even if the device is not
 * ready now. For other hostdevs this must be cheap; if the pool cannot have VFs, their devices are not read.
 *
 * Also decides which UUIDs are placeholders. Operators number real mdevs by hand, so a UUID in placeholder form is real
 * if it has a device, a definition or a lease here, or had a lease, or if any of this cannot be read.
 */
#pragma once

#include <stdbool.h>

#include "sys/sys.h"
#include "config/config.h"
#include "domain/domxml.h"
#include "state/lease_store.h"

/* May the pool have VFs? False is certain. */
bool hostdev_filter_possible(const struct config *config);

/* Is this PCI hostdev of the request ours? For the other arguments see hostdev_filter_keep(). */
bool hostdev_is_ours(const struct request *request, const struct vgpu_request *req, const struct host *host,
		     const struct config *config, const struct leases *leases);

/* Is any device leased to this domain (NULL: to any domain)? False if the leases cannot be read. */
bool hostdev_filter_leased(const struct host *host, const char *domain);

/*
 * Drops from the document's request the PCI hostdevs that are not ours, and decides which UUIDs are placeholders.
 * `config` NULL: a hostdev that the metadata names is ours, except for a plain VF of `host` (may then be NULL). A
 * device that is leased to the domain in `leases` (may be NULL) is ours, even if the configuration has changed.
 */
void hostdev_filter_keep(struct domxml *doc, const struct host *host, const struct config *config,
			 const struct leases *leases);

/*
 * hostdev_filter_keep() for an operation on a document with all PCI hostdevs. 1: the domain has vGPUs; 0: it has none.
 * -E2BIG: see domxml_too_large(). -EPERM: `starts`, and it takes a whole pGPU while running domains use its vGPUs: to
 * unbind the pGPU's driver, libvirt would wait for these domains forever.
 */
int hostdev_filter_request(struct domxml *doc, const struct host *host, const struct config *config, bool starts,
			   struct err *err);

/* Decides only about placeholders. Each parsed document needs this or hostdev_filter_keep() before it is used. */
void placeholder_settle(struct domxml *doc, const struct host *host);
