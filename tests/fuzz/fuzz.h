/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* For fuzz targets: the function that each of them is, and what must hold whatever it gets. */
#pragma once

#include <stdint.h>
#include <string.h>

#include "base/mem.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"

#define MUST(condition)                                                                                                \
	do {                                                                                                           \
		if (!(condition)) {                                                                                    \
			fprintf(stderr, "does not hold: %s\n", #condition);                                            \
			abort();                                                                                       \
		}                                                                                                      \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
