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

/* Searches the processes (and libvirt's files) once more if a rule asks about a device that they do not cover. */
int survey_look_open(struct world *world, struct err *err);

/* Fills in, for each device that a rule asks about, whether it was open at the search and which domain names it. */
void survey_say_open(struct world *world);
