/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Asks systemd when it last started or reloaded a service, which no file records. The hook does not link libsystemd. */
#pragma once

#include <stdint.h>

#include "base/err.h"

/*
 * Asks for the last start or reload of a running unit such as libvirtd.service. *wall_us: microseconds of
 * CLOCK_REALTIME; 0 if systemd knows of neither. Waits three seconds at most. Fails if systemd cannot be asked.
 */
int reload_ask(const char *unit, int64_t *wall_us, struct err *err);
