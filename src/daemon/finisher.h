/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Completes releases as soon as any program marks them: the hook leaves slow ones to the device handler. Also notices
 * when a lease disappears or libvirt changes a status file.
 *
 * It notices a `releasing` lease at once (inotify). If a release cannot be finished yet, it retries after an interval
 * that doubles, up to five seconds. If the kernel has no inotify watch left, it looks every second.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "config/config.h"
#include "model/lease.h"
#include "state/store.h"

/* The directories of the state, of leases, and of libvirt's status files. */
enum { WATCH_RUN, WATCH_LEASES, WATCH_STATUS, WATCHES };

struct finisher {
	int notify; /* inotify; -1: unavailable */
	struct watched {
		int watch;        /* -1: none */
		struct stat seen; /* the directory, if the kernel has no watch for it */
	} watched[WATCHES];
	bool unwatched; /* the kernel has no watch left */
	struct lease_marks logged;
	char trouble[256]; /* as last logged */
	int wait_ms;
	int64_t at_ms; /* when to call finisher_run() next (CLOCK_MONOTONIC); 0: now; INT64_MAX: after an event */
};

void finisher_start(struct finisher *finisher);
void finisher_stop(struct finisher *finisher);

/* Reads the events of `finisher->notify`, which poll(2) waits for. True: one of them is a reason for a pass. */
bool finisher_events(struct finisher *finisher);

/* Completes what it can. True: a directory without a watch has changed, a reason for a pass. */
bool finisher_run(struct finisher *finisher, const struct host *host, const struct policy *policy);

/*
 * Completes as many releases as is possible now, each in a short turn, so that a stuck one delays no other. A device
 * that is still open, or that its driver may still remove by itself, is left for a later call. Returns the number of
 * releases left, or a negative error if the leases cannot be read. `logged`: leases whose failure was logged, so that
 * each is logged once.
 */
int finisher_finish(struct store *store, const struct policy *policy, struct lease_marks *logged, struct err *err);
