/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where libvirt, the lease and the kernel differ about one vGPU of a domain. A pure function. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "look/inventory.h"
#include "state/store.h"

enum { COMPARE_MAX = 8 };

struct compare {
	const char *id;
	const char *domain, *name; /* the domain's UUID, and its name in commands (text_operand()) */
	bool runs;
	bool live, config;         /* the running XML names the vGPU; the definition names it */
	bool taken;                /* detached by a suspend, so the domain runs without it */
	const struct lease *lease; /* of any domain; NULL: none */
	enum presence exists;
	const char *type, *parent; /* as in the kernel; "": unknown */
	int open;                  /* 1: open; 0: not open; negative: unknown */
	pid_t by;                  /* the process that has it open */
	pid_t qemu;                /* the domain's process; 0: unknown */
	const char *gc;            /* a clause of a message: how or when the lease is released, or why it stays */
	bool exiting;              /* `qemu` is exiting, and the kernel still closes its files */
	/* The result: sentences, each with the likely cause or the fix. */
	char differences[COMPARE_MAX][REASON_SIZE];
	size_t n;
};

void compare_views(struct compare *view);
