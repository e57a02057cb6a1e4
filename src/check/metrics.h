/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The state of the host as metrics in Prometheus' text format, as listed in vgpu-lease(8).
 *
 * Ages are given as start times, so that they stay right if the file is read later.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "act/gc.h"
#include "look/world.h"

/*
 * Prints the metrics, or nothing if the leases cannot be read. `world` is from survey_see(); `pass` is a completed
 * gc_run(), whose foreign devices with GC_GOES are orphans.
 */
int metrics_print(FILE *to, const struct world *world, const struct gc *pass, bool config_valid, struct err *err);
