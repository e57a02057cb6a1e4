/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Removes Nova's orphans, and definitions without a device, after reclaim_grace: Nova counts each as a device, even if
 * its type is no longer enabled, and never removes one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ops/gc.h"

/* Sets named[i] if a domain of libvirt names ids[i], or if that is unknown. */
typedef void orphans_named(void *arg, const char *const *ids, bool *named, size_t n);

/*
 * Removes what this pass has found, unless libvirt names it (`named`; NULL: only libvirt's files are read). Takes a few
 * seconds at most. Returns when another pass must remove the rest (CLOCK_MONOTONIC ms); 0: nothing is left.
 */
int64_t orphans_remove(struct gc *pass, orphans_named *named, void *arg);
