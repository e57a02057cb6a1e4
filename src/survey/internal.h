/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Shared by the parts of survey. */
#pragma once

#include "survey/survey.h"

/* Drops the results of survey_ahead(). */
void survey_drop_lookups(struct world *world);

bool survey_reads_all(const struct world *world);

/* True if only those cards of variant and plain VFs are read that a PCI hostdev concerns. A start uses no others. */
bool survey_reads_named(const struct world *world);

/* Reads the part of the host that the request and the leases can concern, or the whole host if survey_reads_all(). */
int survey_read_host(struct world *world, struct err *err);

/*
 * Fills in, for each device that a rule asks about, whether it is open and whether a domain names it. If such a device
 * appeared after the last search, searches again without the lock; under the lock, skips the device and returns 1.
 */
int survey_look_open(struct world *world, struct err *err);

/*
 * Lists, section by section, the cards that a section names or matches but that provide no vGPUs on this host. If a
 * type claims all remaining cards but no card serves it, also lists this host's GPUs that could have it, and the
 * devices that once had vGPUs of the type. The caller frees the list. Needs pool_make() on `inv`, read with all
 * frameworks and types.
 */
size_t missing_cards(struct missing_card **out, const struct host *host, const struct inventory *inv);
