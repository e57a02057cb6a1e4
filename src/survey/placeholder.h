/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Decides which UUIDs of a domain are placeholders. People also number real mdevs by hand, so a UUID in placeholder
 * form is real if it has a device, an mdevctl definition or a lease on this host. If one of these cannot be read, the
 * UUID counts as real, so that nothing replaces it.
 */
#pragma once

#include "sys/sys.h"
#include "domain/domxml.h"

/* Call this on every parsed document, before its request is used. */
void placeholder_settle(struct domxml *doc, const struct host *host);
