/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which UUIDs of a domain are placeholders: those in placeholder form that stand for nothing on this host. A UUID with
 * a device, an mdevctl definition or a lease is real, because people number their mdevs by hand. If this is not known,
 * the UUID counts as real, so that nothing replaces it.
 */
#pragma once

#include "sys/sys.h"
#include "domain/domxml.h"

/* Call this on every parsed document, before its request is used. */
void placeholder_settle(struct domxml *doc, const struct host *host);
