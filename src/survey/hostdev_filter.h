/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which PCI hostdevs of a domain are our vGPUs, judged by the configuration and the device, never by what is ready now.
 * All others are passed through at almost no cost: a device that is not a VF takes one look, and without a pool of VFs
 * nothing is looked at.
 */
#pragma once

#include <stdbool.h>

#include "sys/sys.h"
#include "config/config.h"
#include "domain/domxml.h"
#include "state/lease_store.h"

/* Can the pool have VFs? False is certain. */
bool hostdev_filter_possible(const struct config *config);

/* Why a PCI hostdev is ours. */
enum ours {
	OURS_NOT,
	OURS_NAMED,      /* the metadata names it */
	OURS_LEASED,     /* to this domain; a VF that is being disabled: to any domain */
	OURS_CONFIGURED, /* a section names or matches its card, or names the VF */
	OURS_TYPED,      /* it takes a type, and types are enabled */
	OURS_ABSENT,     /* it does not exist, but could be a VF of such a card */
	OURS_BEFORE      /* it does not exist, but was a vGPU of ours */
};

/* Is this PCI hostdev of the request ours, and why? The arguments are those of hostdev_filter_keep(). */
enum ours hostdev_ours(const struct request *request, const struct vgpu_request *req, const struct host *host,
		       const struct config *config, const struct leases *leases);

/* Is anything leased to this domain (NULL: to any)? Used for a release, which depends on the leases alone. */
bool hostdev_filter_leased(const struct host *host, const char *domain);

/*
 * Drops PCI hostdevs that are not ours from the document, and decides which of its UUIDs are placeholders. `config`
 * NULL: only the metadata count, and `host` may be NULL. `leases` (may be NULL): whatever is leased to the domain is
 * ours too, even if the configuration has changed.
 */
void hostdev_filter_keep(struct domxml *doc, const struct host *host, const struct config *config,
			 const struct leases *leases);
