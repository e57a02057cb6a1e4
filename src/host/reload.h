/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Finds out when systemd last started or reloaded a service. No file records that, so systemd is asked over D-Bus. Only
 * for operator commands: the hook is not linked with libsystemd.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"

/*
 * Asks for the last start or reload of a running unit such as libvirtd.service. *wall_us: microseconds of
 * CLOCK_REALTIME; 0 if systemd knows of neither. Waits three seconds at most. Fails if systemd cannot be asked.
 */
int reload_ask(const char *unit, int64_t *wall_us, struct err *err);
