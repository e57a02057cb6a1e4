/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* --wait-ready, for units that start at boot and need the drivers of the cards. */
#pragma once

#include "base/err.h"

/*
 * Waits at most `wait_s` seconds until a start would find what the configuration names. -ETIMEDOUT: the text names the
 * first one missing. If there is no configuration, or it enables no type, there is nothing to wait for.
 */
int wait_ready(const char *root, const char *config_path, int wait_s, struct err *err);
