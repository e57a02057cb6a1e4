/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The state of the host as metrics in Prometheus' text format, as listed in vgpu-lease(8).
 *
 * Ages are given as start times, so that a file that is read later is still right.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "ops/gc.h"
#include "plan/world.h"

struct metrics {
	const struct world *world; /* from survey_see() */
	bool config_valid;         /* there is a valid file */
	const struct gc *pass;     /* a completed gc_run(); its foreign devices with GC_GOES are orphans */
};

/* Prints the metrics, or nothing if the leases cannot be read. */
int metrics_print(FILE *to, const struct metrics *metrics, struct err *err);
