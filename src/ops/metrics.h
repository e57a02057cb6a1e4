/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The state of the host as metrics in Prometheus' text format, as listed in vgpu-lease(8).
 *
 * An age is given as the time at which it began, so that a file that is read later is still right.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "ops/gc.h"

struct metrics {
	struct store *store;
	const struct config *config; /* the defaults if there is none */
	bool config_valid;           /* there is a valid file */
	const struct gc *pass;       /* a completed gc_run(); its foreign devices with GC_GOES are orphans */
};

/* Reads the host and prints the metrics, or nothing if the host cannot be read. */
int metrics_print(FILE *to, const struct metrics *metrics, struct err *err);
