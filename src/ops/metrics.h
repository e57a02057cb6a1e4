/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The state of the host as metrics, in Prometheus' text format: what vgpu-lease(8) lists under metrics.
 *
 * Ages are given as the time at which they began, so that a file that is read later is still right.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "ops/gc.h"

struct metrics {
	struct store *store;
	const struct config *config; /* the defaults where there is none */
	bool config_valid;           /* there is a file, and it has no error */
	const struct gc *pass;       /* one that has judged: its foreign devices that go are orphans */
};

/* Reads the host and prints. Nothing is printed if the host cannot be read. */
int metrics_print(FILE *to, const struct metrics *metrics, struct err *err);
