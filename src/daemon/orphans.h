/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Removes Nova's orphans, and definitions without a device, after reclaim_grace: Nova counts each as a device, even if
 * its type is no longer enabled, and never removes one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/guests.h"
#include "ops/gc.h"

/*
 * Removes what this pass has found, unless libvirt names it (if it is never asked, only its files count). The removals
 * take a few seconds at most. Returns when another pass must remove the rest (CLOCK_MONOTONIC ms); 0: nothing is left.
 */
int64_t orphans_remove(struct gc *pass, struct guests *guests);
