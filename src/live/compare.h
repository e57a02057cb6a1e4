/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What libvirt, the lease and the kernel say of one vGPU of a domain, and where they differ.
 *
 * Pure: each difference is a sentence about the vGPU that says what it may come from, or what to do.
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
	const char *domain, *name; /* its UUID, and what a command can call it in few characters */
	bool runs;                 /* the domain does */
	bool live, config;         /* the running domain's XML has it; its definition has it */
	bool taken;                /* a suspend took it from the running domain */
	const struct lease *lease; /* whoever's; NULL none */
	enum presence exists;      /* in the kernel */
	const char *type, *parent; /* as the kernel has it; "" where it does not say */
	int open;                  /* 1 somebody has it open, 0 nobody, negative: that cannot be told */
	pid_t by;                  /* who */
	pid_t qemu;                /* the domain's process; 0 not known */
	const char *gc;            /* what to do about a lease that is to go, or when it goes */
	bool exiting;              /* that process is: what it had open the kernel is closing */
	/* the result */
	char differences[COMPARE_MAX][REASON_SIZE];
	size_t n;
};

void compare_views(struct compare *view);
