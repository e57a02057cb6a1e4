/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Shared by the parts of survey. */
#pragma once

#include "survey/survey.h"

/* Drops the results of survey_ahead(). */
void survey_drop_lookups(struct world *world);

bool survey_reads_all(const struct world *world);

/* Does the survey read only the cards whose VFs the PCI hostdevs name? At a start, libvirt uses no other VFs. */
bool survey_reads_named(const struct world *world);

/* Reads the part of the host that the request and the leases can concern, or all of it. */
int survey_read_host(struct world *world, struct err *err);

/* Does a rule ask about a device that appeared after the last search of the processes, or was there none? */
bool survey_asks_unseen(const struct world *world);

/* Without the lock, then searches the processes (and libvirt's files) once more. */
int survey_look_open(struct world *world, struct err *err);

/*
 * Fills in, for each device that a rule asks about, whether it was open at the search and which domain names it. For a
 * device that appeared after the search, both are unknown.
 */
void survey_say_open(struct world *world);
