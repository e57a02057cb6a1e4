/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Differences between libvirt, the lease and the kernel about one vGPU of a domain.
 *
 * Pure. Each difference is a sentence about the vGPU with the likely cause or the fix.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "host/inventory.h"
#include "state/lease_store.h"

enum { COMPARE_MAX = 8 };

struct compare {
	const char *id;
	const char *domain, *name; /* the domain's UUID, and its name for commands: text_operand() */
	bool runs;                 /* the domain is running */
	bool live, config;         /* the running XML has the vGPU; the definition has it */
	bool taken;                /* a suspend detached it from the running domain */
	const struct lease *lease; /* held by any domain; NULL: none */
	enum presence exists;      /* in the kernel */
	const char *type, *parent; /* as the kernel shows them; "": unknown */
	int open;                  /* 1: open, 0: not open, negative: unknown */
	pid_t by;                  /* the process that has it open */
	pid_t qemu;                /* the domain's process; 0: unknown */
	const char *gc;            /* a clause: how or when the lease will be released, or why it stays */
	bool exiting;              /* `qemu` is exiting, and the kernel is closing what it had open */
	/* the result */
	char differences[COMPARE_MAX][REASON_SIZE];
	size_t n;
};

void compare_views(struct compare *view);
