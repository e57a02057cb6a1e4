/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A host for the simulated day: the simulator's kernel in this process, seen as an inventory.
 * Where a vGPU goes is decided by the program's own plan, or, to compare, by first fit.
 *
 * What must always hold is watched: a plan is one that the kernel carries out, nothing is refused that the kernel has
 * capacity for, a VF has one vGPU at most, and in the end nothing is left.
 */
#pragma once

#include "decide/plan.h"
#include "sim/kernel.h"

enum strategy { PACK, SPREAD, FIRST_FIT, STRATEGIES };

/* The sizes that domains ask for, in GiB. */
enum { SIZES = 7 };
extern const int day_sizes[SIZES];

struct host_day {
	enum strategy strategy;
	struct sim_kernel kernel;
	struct inventory inv;
	struct arena *arena; /* of the inventory, but for its devices */
	struct config config;
	char broken[512]; /* what should never be; "" nothing */
};

void host_day_start(struct host_day *host, const char *model, enum strategy strategy);
void host_day_end(struct host_day *host);

/* A domain arrives with one vGPU of that size: false where it is refused. It leaves. */
bool host_day_arrive(struct host_day *host, int domain, int size);
void host_day_leave(struct host_day *host, int domain);
