/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Carrying out a plan's steps: the leases first, then the kernel; undone on failure.
 *
 * A step that creates is done under its pGPU's lock, where the kernel's count is read again and decides; what exists
 * is adopted beside that, and waits for its own removal alone. The store's lock is held only while leases are written.
 * A step that fails is a failed attempt: the next plan passes that candidate over.
 */
#pragma once

#include "config/config.h"
#include "base/err.h"
#include "plan/plan.h"
#include "state/store.h"

/* What this run leased. */
struct applied {
	char id[ID_SIZE];
	bool made;           /* the device is of this run: undone, it is removed, whoever it was made for */
	bool had;            /* the domain held it before: */
	struct lease before; /* so, and a write to the kernel may still go on for it */
};

struct apply {
	struct store *store;
	const struct policy *policy;
	const struct request *request;
	struct applied *done; /* undone by apply_undo() */
	size_t ndone;
	int lock;           /* of the pGPU whose step is being carried out; -1: the step needs none */
	const char *op;     /* for the log: "prepare" */
	int64_t wait_by_ms; /* until when others are waited for: locks, devices that are open */
	int64_t end_ms;     /* when the last creation is to be over; what undoing takes comes behind it */
};

/* From now on the times of the policy run: lock_timeout for all waits together, create_timeout behind it. */
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
 * Makes what step number `i` says. `params`: vgpu_params to set, "" none. 0: the device is whole and its lease active.
 * Otherwise what was made of it is removed, its lease is dropped, and with it those of the steps behind it, which the
 * next plan promises anew. The result says what to do: -EAGAIN: the world is not as the plan took it to be, plan anew;
 * -ETIMEDOUT: the creation hangs, or what it made cannot be removed, give up (the lease stays for whoever collects it);
 * -ECANCELED: no time is left; -ESTALE: the domain was released meanwhile; any other: this candidate failed, try the
 * next.
 */
int apply_step(struct apply *apply, const struct step *steps, size_t n, size_t i, const char *params, struct err *err);

/*
 * For a step whose lease cannot be written: waits until the device is closed, in no removal and whole, and changes
 * nothing. -EAGAIN: it is not there (any more).
 */
int apply_present(struct apply *apply, const struct step *step, struct err *err);

/* Is the step done under its pGPU's lock? */
bool apply_needs_lock(const struct step *step);

/* Releases, in reverse, what this run leased. */
void apply_undo(struct apply *apply);
