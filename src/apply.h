/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Carrying out a plan's steps: the leases first, then the kernel; undone on failure.
 *
 * Each step is done under its pGPU's lock, where the kernel's count is read again and decides; the store's lock is
 * held only while leases are written. A step that fails is a mishap: the next plan passes that candidate over.
 *
 * Depends on: bounded, config, giveback, kernel, lease, plan's types, store. Knows nothing of XML or of how the plan
 * came about.
 */
#pragma once

#include "config.h"
#include "err.h"
#include "plan.h"
#include "store.h"

struct apply {
	struct store *store;
	const struct policy *policy;
	const struct request *request;
	char (*done)[ID_SIZE]; /* what this run leased: undone by apply_undo() */
	size_t ndone;
	const char *op; /* for the log: "prepare" */
};

void apply_start(struct apply *apply, struct store *store, const struct policy *policy, const struct request *request,
		 const char *op);
void apply_end(struct apply *apply);

/*
 * Writes the leases of all steps, under the store's lock, which the caller holds: `creating` or, for what exists,
 * `active`.
 */
int apply_lease(struct apply *apply, const struct step *steps, size_t n, struct err *err);

/* The same for an arrival: `reserved`, until `reserve_ttl` from now. Nothing is written to sysfs. */
int apply_reserve(struct apply *apply, const struct step *steps, size_t n, struct err *err);

/*
 * Makes what a leased step says. `params`: vgpu_params to set, "" none. 0: the device is whole and its lease active.
 * Otherwise its lease is dropped, what was made of it is removed, and the result says what to do: -EAGAIN: the world
 * is not as the plan took it to be, plan anew; -ETIMEDOUT: the creation hangs, give up (the lease stays for whoever
 * collects it); -ECANCELED: the domain was released meanwhile; any other: this candidate failed, try the next.
 */
int apply_step(struct apply *apply, const struct step *step, const char *params, struct err *err);

/* Gives back, in reverse, what this run leased. */
void apply_undo(struct apply *apply);
