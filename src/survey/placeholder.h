/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which UUIDs of a domain are placeholders: those of the form that stand for nothing here. One that has a device, an
 * mdevctl definition or a lease is that UUID: people number their mdevs by hand. Where that cannot be told it is one,
 * too, so that nothing is put in its place.
 */
#pragma once

#include "sys/sys.h"
#include "domain/domxml.h"

/* Call it on every document that was parsed, before anything is made of its request. */
void placeholder_settle(struct domxml *doc, const struct host *host);
