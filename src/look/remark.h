/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Warnings about a domain's hostdevs and metadata, for commands that check a definition. A start does not warn. */
#pragma once

#include "sys/sys.h"
#include "domain/domxml.h"
#include "look/inventory.h"

/*
 * Warns about PCI hostdevs that are probably mistakes, and about vGPUs in <qemu:commandline>. `doc` must be parsed with
 * DOMXML_ALL_PCI and DOMXML_REMARKS, and not filtered by hostdev_filter_keep() yet. `inv` must have all cards and the
 * configuration; NULL: not known.
 */
void remark_hostdevs(struct remarks *out, const struct domxml *doc, const struct host *host,
		     const struct inventory *inv);

/* Warns about metadata without effect on this host. `doc` must be parsed with DOMXML_REMARKS. */
void remark_domain(struct remarks *out, const struct domxml *doc, const struct host *host);
