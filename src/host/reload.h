/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * When systemd last started or reloaded a service: neither leaves a trace in any file, so busctl(1) is run to ask. For
 * the operator's command alone: the hook runs no other program.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"

#define RELOAD_BUSCTL "/usr/bin/busctl"

/*
 * Asks for the last start or reload of a running unit such as libvirtd.service; `busctl` is the program to run.
 * *wall_us: microseconds of CLOCK_REALTIME, 0 if systemd knows of neither. Waits three seconds at most. Fails if
 * systemd cannot be asked.
 */
int reload_ask(const char *busctl, const char *unit, int64_t *wall_us, struct err *err);
