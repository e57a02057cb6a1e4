/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Completes releases as soon as any program marks them, because the hook leaves slow ones to the device handler. Also
 * notices when a lease disappears or libvirt changes a status file.
 *
 * It notices a `releasing` lease at once (inotify). If a release cannot be completed yet, it retries at intervals that
 * double up to five seconds. Without a watch of inotify it looks every second.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "config/config.h"
#include "model/lease.h"
#include "state/store.h"

/* The directories of the state, of the leases, and of libvirt's status files. */
enum { WATCH_RUN, WATCH_LEASES, WATCH_STATUS, WATCHES };

struct finisher {
	int notify; /* inotify's descriptor; -1: none */
	struct watched {
		int watch;        /* -1: none */
		struct stat seen; /* the directory's state at the last look, if it has no watch */
	} watched[WATCHES];
	bool unwatched; /* the kernel refuses a watch */
	struct lease_marks logged;
	char trouble[256];
	int wait_ms;
	int64_t at_ms; /* when finisher_run() is due, CLOCK_MONOTONIC; 0: now; INT64_MAX: after an event */
};

void finisher_start(struct finisher *finisher);
void finisher_stop(struct finisher *finisher);

/* Reads the events of `finisher->notify`. True: one of them is a reason for a pass. */
bool finisher_events(struct finisher *finisher);

/* Completes what it can. True: a directory without a watch has changed, which is a reason for a pass. */
bool finisher_run(struct finisher *finisher, const struct host *host, const struct policy *policy);

/*
 * Completes the releases that are possible now, each in a short turn, so that a stuck one does not delay the others.
 * Leaves a device that is open, or that its driver may still remove, for a later call. Returns the number of releases
 * that are left, or a negative errno if the leases cannot be read. `logged`: the leases whose failure is already
 * logged.
 */
int finisher_finish(struct store *store, const struct policy *policy, struct lease_marks *logged, struct err *err);
