/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The text of a first configuration for this host. */
#pragma once

#include <stddef.h>

#include "base/err.h"
#include "sys/sys.h"

/* The caller frees *text. Fails, and warns of each GPU, if the host is not Nova's and no card can have a type now. */
int init_text(const struct host *host, char **text, size_t *len, struct err *err);
