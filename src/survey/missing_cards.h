/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The cards that the configuration means and that make no vGPUs here: no such device, no driver, another one, VFs that
 * are not enabled. Those that a section names, the PCI devices that one matches, and, for a type that takes all cards
 * and has none, the GPUs of this host, and what had vGPUs of that type.
 */
#pragma once

#include <stddef.h>

#include "base/err.h"
#include "sys/sys.h"
#include "plan/plan.h"

/*
 * Lists them in the order of sections and addresses; the caller frees the list. The pool's inventory must have been
 * read with all frameworks.
 */
int missing_cards(struct missing_card **out, size_t *n, const struct host *host, const struct inventory *inv,
		  struct err *err);
