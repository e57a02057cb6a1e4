/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* --wait-ready: for units that start at boot, which must not come before the drivers of the cards. */
#pragma once

#include "base/err.h"

/*
 * Waits until a start would find what the configuration names, at most `wait_s` seconds: -ETIMEDOUT, and the first that
 * is not there. Without a configuration, or with one that gives nothing to the pool, there is nothing to wait for.
 */
int wait_ready(const char *root, const char *config_path, int wait_s, struct err *err);
