/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which PCI hostdevs of a domain are vGPUs of ours: by the configuration and the device, never by what is ready at the
 * moment. All others are passed through without us, and cost next to nothing: a device that is not a VF ends at one
 * look, and a host without a pool of VFs at none.
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
	OURS_LEASED,     /* to this domain; a VF that is being disabled: to any */
	OURS_CONFIGURED, /* a section names or matches its card, or names it */
	OURS_TYPED,      /* it takes a type, and types are enabled */
	OURS_ABSENT,     /* no device, but it can be a VF of such a card */
	OURS_BEFORE      /* no device, but it was a vGPU of ours */
};

/* Is this one of the request's PCI hostdevs ours, and why? The arguments as for hostdev_filter_keep(). */
enum ours hostdev_ours(const struct request *request, const struct vgpu_request *req, const struct host *host,
		       const struct config *config, const struct leases *leases);

/* Is anything leased to this domain (NULL: to any)? For a release, which goes by the leases alone. */
bool hostdev_filter_leased(const struct host *host, const char *domain);

/*
 * Forgets the document's PCI hostdevs that are not ours, and settles which of its UUIDs are placeholders. `config`
 * NULL: the metadata alone say which are, and `host` may be NULL. With `leases` (NULL: not asked) what is leased to the
 * domain is ours, too, whatever the configuration says by now.
 */
void hostdev_filter_keep(struct domxml *doc, const struct host *host, const struct config *config,
			 const struct leases *leases);
