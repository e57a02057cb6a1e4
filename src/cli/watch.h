/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A picture that is drawn again whenever a lease, a device or the terminal's size changes. */
#pragma once

#include "cli/cmd.h"

/*
 * Draws until q is typed, or SIGINT, SIGTERM, SIGHUP or SIGQUIT comes: then 0. On a terminal it has a screen of its
 * own. `draw` prints on term->to; what it fails with is shown in the place of the picture.
 */
int watch_run(struct cmd *cmd, int (*draw)(struct cmd *cmd, const struct term *term, struct err *err), struct err *err);
