/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Configured cards that provide no vGPUs on this host, because of a missing device or driver, another driver, or
 * disabled VFs. They are the cards that a section names and the PCI devices that it matches; for a type that claims all
 * cards but has none, also the GPUs of this host and devices that once had vGPUs of that type.
 */
#pragma once

#include <stddef.h>

#include "base/err.h"
#include "sys/sys.h"
#include "plan/plan.h"

/*
 * Lists them in the order of sections and addresses; the caller frees the list. The inventory must be the pool's, read
 * with all frameworks.
 */
int missing_cards(struct missing_card **out, size_t *n, const struct host *host, const struct inventory *inv,
		  struct err *err);
