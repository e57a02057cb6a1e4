/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The device handler without its loop: its configuration, its lock, and a pass over everything.
 *
 * All state that matters is in the leases. What a pass leaves to the next one only saves time and log lines. While a
 * handler holds its lock, the hook leaves slow releases to that handler, whose finisher completes them.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "config/config.h"
#include "base/err.h"
#include "base/mem.h"
#include "sys/sys.h"
#include "daemon/guests.h"
#include "model/lease.h"

/* What a pass leaves to the next one. */
struct remembered {
	int64_t next_ms;         /* when the next pass is due, CLOCK_MONOTONIC; 0: before the first pass */
	char status[512];        /* the outcome of the pass, printable, for people; shown after guests.state */
	char *reported;          /* the lines that the pass reported */
	struct lease_marks seen; /* leases whose domain had the device */
	struct guests guests;    /* without a connection */
};

/*
 * A pass in a process of its own, so that nothing that a pass waits for (libvirt, a lock, a driver) delays the loop,
 * which completes releases. Otherwise a pass could wait for libvirt, while libvirt waits for a hook and the hook for a
 * release. The process ends with its parent, and can be killed at any instant.
 */
struct pass {
	pid_t pid;       /* 0: no pass is running */
	int end;         /* a descriptor that is readable when the process ends; -1: none */
	int64_t late_ms; /* when the process is given up, CLOCK_MONOTONIC */
	struct arena *arena;
	/* In the arena: */
	struct remembered *_Atomic *left; /* what the pass has left so far; NULL: nothing yet */
	_Atomic int64_t *asking_ms;       /* as in struct guests */
};

struct handler {
	struct host host;
	const char *config_path;
	struct config config;
	bool has_config; /* a valid file was read into `config`; false: `config` has the defaults */
	bool is_valid;   /* the file was valid when last read; the hook reads it each time */
	int lock;        /* handler.lock; -1: not held by this process */
	struct remembered last;
	struct pass pass; /* .arena NULL: no pass in a process of its own */
};

/*
 * Opens the host, reads the configuration (an invalid one is logged and not used), and takes the lock. Call
 * handler_close() even after a failure.
 */
int handler_open(struct handler *handler, const char *root, const char *config_path, struct err *err);
void handler_close(struct handler *handler);

/* Reads the configuration again. If it is invalid, logs that and keeps the old one. */
void handler_reload(struct handler *handler);

/* Takes the lock, unless it is held in the current directory: the hook sees no lock in a replaced directory. */
int handler_hold_lock(struct handler *handler, struct err *err);

/* Makes one pass, with its outcome in handler->last. Errors are logged, and the next pass is then due soon. */
void handler_pass(struct handler *handler);

/* Starts a pass in a process of its own, with the handler's lock held. False: it has failed. */
bool pass_start(struct handler *handler);

/*
 * When the process is given up, if the next pass is due at `next_ms` or at an earlier time that this pass has left. A
 * pass asks libvirt last. Once the next pass is due, libvirt has only a few seconds left to answer.
 */
int64_t pass_late_ms(const struct handler *handler, int64_t next_ms);

/*
 * Call it when `end` is readable or the process is late; a late process is killed. The outcome is in handler->last.
 * Returns the processor time that the pass took, in ms.
 */
int64_t pass_end(struct handler *handler);

/* Kills the process, if there is one. */
void pass_stop(struct handler *handler);
