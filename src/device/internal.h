/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Shared by the files of this directory: creating the vGPUs of a plan. */
#pragma once

#include "device/apply.h"
#include "host/kernel.h"

enum { UNDO_MS = 2000 };

/* Sets wait_by_ms to lock_timeout after `since_ms`, and end_ms to create_timeout after wait_by_ms. */
void create_times(struct apply *apply, int64_t since_ms);

/* `ms`, or the time left until `end_ms` if that is shorter. */
int create_within(int ms, int64_t end_ms);

/* The deadline of the whole operation, including an undo and the locks for recording the outcome. */
int64_t create_last_ms(const struct apply *apply);

/* Creates the vGPU of a step, and sets done->made once there is a device. Returns as apply_step(). */
int create_vgpu(const struct apply *apply, const struct step *step, struct applied *done, const char *params,
		struct err *err);

/*
 * Waits until the step's vGPU is complete. Then, if `params` is not NULL, sets the attributes of the vGPU's mdevctl
 * definition and the parameters ("": none). For an adopted vGPU, sets only the parameters, and returns an error only if
 * this write hangs; other failures are logged.
 */
int create_complete(const struct apply *apply, const struct step *step, int work, const char *params, int64_t end,
		    struct err *err);

/* Waits until the domain's previous QEMU, which may be exiting, has closed its device. */
int create_wait_closed(const struct apply *apply, const struct step *step, struct err *err);

/* Sets the error of a read that the driver does not answer. */
int create_no_answer(struct err *err);

/* release_sweep.c: makes the lease `releasing`. Its origin becomes `created` if the release must remove the device. */
void release_mark_lease(const struct store *store, struct lease *lease);

/* Writes the lease after release_mark_lease(), or drops it if it is a reservation. Needs the store's lock. */
int release_give_up(const struct store *store, struct lease *lease, struct err *err);
