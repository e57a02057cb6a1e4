/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Metrics of the host in Prometheus' text format; vgpu-lease(8) lists them. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "act/gc.h"
#include "look/world.h"

/* Prints the metrics, from a full `world` and `pass`. Negative: the leases cannot be read, and nothing is printed. */
int metrics_print(FILE *to, const struct world *world, const struct gc *pass, bool config_valid, struct err *err);
