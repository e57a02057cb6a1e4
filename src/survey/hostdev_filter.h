/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which PCI hostdevs of a domain are vGPUs of ours: those that its metadata names, and VFs that the configuration gives
 * to the pool, whether these are ready or not. All others are passed through without us, and cost next to nothing: who
 * is no VF ends at one look, and a host without a pool of VFs at none.
 */
#pragma once

#include <stdbool.h>

#include "config/config.h"
#include "domain/domxml.h"
#include "base/err.h"
#include "base/host.h"
#include "state/lease_store.h"

/* Can the pool have VFs? False is certain. */
bool hostdev_filter_possible(const struct config *config);

/* Is anything leased to this domain (NULL: to any)? For a release, which goes by the leases alone. */
bool hostdev_filter_leased(const struct host *host, const char *domain);

/*
 * Forgets the document's PCI hostdevs that are not ours. `config` NULL: the metadata alone say which are, and `host`
 * may be NULL. With `leases`
 * (NULL: not asked) what is leased to the domain is ours, too, whatever the configuration says by now.
 */
int hostdev_filter_keep(struct domxml *doc, const struct host *host, const struct config *config,
			const struct leases *leases, struct err *err);
