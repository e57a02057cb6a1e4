/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Shared by the files of this directory: creating the vGPUs of a plan. */
#pragma once

#include "device/apply.h"
#include "host/kernel.h"

enum { UNDO_MS = 2000 };

/* `ms`, or the time left until `end_ms` if that is shorter. */
int create_within(int ms, int64_t end_ms);

/* The deadline of the whole operation, including an undo and the locks for recording the outcome. */
int64_t create_last_ms(const struct apply *apply);

/*
 * Creates the vGPU of a step; removes it again if it is incomplete. Needs the pGPU's lock, and `work` as create_undo()
 * does. Returns as apply_step().
 */
int create_vgpu(const struct apply *apply, const struct step *step, int *work, const char *params, struct err *err);

/*
 * Waits until the step's vGPU is complete, and sets the attributes of its mdevctl definition and its parameters (""
 * none). `params` NULL: the vGPU existed already, so nothing is set.
 */
int create_complete(const struct apply *apply, const struct step *step, int work, const char *params, int64_t end,
		    struct err *err);

/* Sets the parameters of an adopted vGPU that is closed. A failure is only logged, unless the write hangs. */
int create_adopted(const struct apply *apply, const struct step *step, int work, const char *params, int64_t end,
		   struct err *err);

/*
 * Removes what this step created, under its work lock `*work`. If it cannot, says so in `why` and returns -ETIMEDOUT. A
 * removal may never end if a monitor opened the device when it appeared; then a child keeps the lock, and *work is -1.
 */
int create_undo(const struct apply *apply, const struct step *step, int *work, struct err *why);

/* Sets the error of a read that the driver does not answer. */
int create_no_answer(struct err *err);

/* release_sweep.c: makes the lease `releasing`, with the origin that says whether to remove its device. */
void release_give_up(const struct store *store, struct lease *lease);
