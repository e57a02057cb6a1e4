/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The inventory of a test's host, and what its last read said. */
#pragma once

#include "lib/tap.h"
#include "lib/tree.h"
#include "lib/vgpu.h"

static struct inventory inv;
static struct err err;

/* Reads it anew. */
static inline int read_host(const struct host *host, const struct inv_query *query)
{
	inventory_free(&inv);
	return inventory_read(&inv, host, query, &err);
}
