/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Between the parts of survey: survey_open.c tells whether devices are open, survey_absent.c whether leased ones are
 * absent.
 */
#pragma once

#include "survey/survey.h"

/* Looks at all processes, for `ms` milliseconds, and at libvirt's files if `disk`: never under the store's lock. */
int survey_look_up(struct survey *survey, int ms, bool disk, struct err *err);
void survey_drop_lookups(struct survey *survey);

/*
 * The ids that the request names, those that the leases hold, and with a configuration (NULL: without) those that it
 * enables, for inventory_read(); NULL-terminated, in one allocation, the caller frees it. NULL: out of memory.
 */
const char **survey_types(const struct survey *survey, const struct config *config);

/* Looks who has a device open, and which domain names it, where a rule asks. */
int survey_processes(struct survey *survey, struct err *err);

/* Says of each device that a rule asks about whether it was open at the last look; true: one has come since. */
bool survey_say_open(struct survey *survey);

/* Asks the drivers of leased VFs that the inventory does not have, once that is read; not under the store's lock. */
int survey_ask(struct survey *survey, struct err *err);
void survey_drop_asked(struct survey *survey);

/* Is somebody writing to this device, or to its pGPU? */
bool survey_writes(const struct survey *survey, const struct lease *lease);

/*
 * Does its device exist? PRESENCE_UNKNOWN also where a VF was asked for by a lease that has changed since, or while
 * somebody was at work on it.
 */
enum presence survey_presence(const struct survey *survey, const struct lease *lease);

/* Does a plan count it by the lease alone, as the inventory has no device of it? */
bool survey_counts(const struct survey *survey, const struct lease *lease);

/* Has the device of such a lease come since the host was read? */
bool survey_overtaken(const struct survey *survey, const struct lease *lease);
