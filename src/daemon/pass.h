/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A pass of the device handler in a process of its own. So nothing that a pass waits for (libvirt, a lock, a driver)
 * delays the loop, which completes releases. Otherwise a pass could wait for libvirt, while libvirt waits for a hook
 * and the hook for a release. The process ends with its parent, and can be killed at any instant.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/mem.h"
#include "daemon/device_handler.h"

struct pass {
	pid_t pid;       /* 0: none is being made */
	int end;         /* a descriptor that is readable when the process ends; -1: none */
	int64_t late_ms; /* when the process is given up, CLOCK_MONOTONIC */
	struct arena *arena;
	/* In the arena: */
	struct remembered *_Atomic
		*left;              /* what the pass leaves, as far as it got; NULL: it has not judged everything */
	_Atomic int64_t *asking_ms; /* as in struct guests */
};

/* Starts a pass with the handler's lock held. False: it has failed (handler_pass_failed()). */
bool pass_start(struct pass *pass, struct handler *handler);

/*
 * When the process is given up, if the next pass is due at `next_ms` or at the earlier time that this pass leaves. A
 * pass asks libvirt last, so the next one waits only a few seconds for the answer.
 */
int64_t pass_late_ms(const struct pass *pass, int64_t next_ms);

/*
 * Call it when `end` is readable or the process is late; a late process is killed. The outcome is in handler->last.
 * Returns the processor time that the pass took, in ms.
 */
int64_t pass_end(struct pass *pass, struct handler *handler);

/* Kills the process, if there is one. */
void pass_stop(struct pass *pass);
