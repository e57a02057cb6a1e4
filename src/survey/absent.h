/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The cards that the configuration means and that make no vGPUs here: no such device, no driver, another one, VFs that
 * are not enabled. Those that a section names, the PCI devices that one matches, and, for a type that takes all cards
 * and has none, the GPUs of this host.
 */
#pragma once

#include <stddef.h>

#include "config/config.h"
#include "base/err.h"
#include "base/host.h"
#include "plan/pool.h"

enum absent_how { ABSENT_NAMED, ABSENT_MATCHED, ABSENT_IDLE };

struct absent {
	enum absent_how how;
	const struct section *section;
	struct place at; /* in the files: of the address, of the match; not of an idle one */
	char address[PARENT_SIZE];
	char reason[REASON_SIZE]; /* and what to do */
};

/*
 * Lists them in the order of sections and addresses; the caller frees the list. The pool's inventory must have been
 * read with all frameworks.
 */
int absent_list(struct absent **out, size_t *n, const struct host *host, const struct pool *pool, struct err *err);
