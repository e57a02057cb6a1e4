/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Finds configured cards that provide no vGPUs on this host: those that a section names or matches. If a type claims
 * all cards but no card serves it, also this host's GPUs, and the devices that once had vGPUs of the type.
 */
#pragma once

#include <stddef.h>

#include "base/err.h"
#include "sys/sys.h"
#include "plan/plan.h"

/*
 * Lists the missing cards section by section; the caller frees the list. pool_make() must have been called for `inv`,
 * and all frameworks and types must have been read.
 */
size_t missing_cards(struct missing_card **out, const struct host *host, const struct inventory *inv);
