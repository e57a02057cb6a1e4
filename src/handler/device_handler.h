/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The device handler without its loop: its configuration, its lock, and its passes.
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
#include "handler/guests.h"
#include "model/lease.h"

/* What a pass leaves to the next one. */
struct remembered {
	int64_t next_ms;  /* when the next pass is due, CLOCK_MONOTONIC; 0: before the first pass */
	char status[512]; /* the outcome of the pass, printable; shown after guests.state */
	char *reported;
	struct lease_marks seen; /* leases whose domain had the device */
	struct guests guests;    /* without a connection */
};

/*
 * A pass in a process of its own, so that a wait for libvirt, a lock or a driver does not delay the loop. In the loop,
 * a pass could wait for libvirt, libvirt for a hook, and the hook for a release by the loop. The process ends with its
 * parent, and can be killed at any instant.
 */
struct pass {
	pid_t pid;       /* 0: no pass is running */
	int end;         /* readable when the process ends; -1: none */
	int64_t late_ms; /* when the process is killed, CLOCK_MONOTONIC */
	struct arena *arena;
	/* In the arena: */
	struct remembered *_Atomic *left; /* the last outcome that the pass has left; NULL: none yet */
	_Atomic int64_t *asking_ms;       /* see struct guests */
};

struct handler {
	struct host host;
	const char *config_path;
	struct config config;
	bool has_config; /* `config` is from a valid file; false: it has the defaults */
	bool is_valid;   /* the file was valid at the last read; the hook reads it at each call */
	int lock;        /* handler.lock; -1: not held by this process */
	struct remembered last;
	struct pass pass; /* .arena NULL: no pass runs in a process of its own */
};

/*
 * Opens the host, reads the configuration, and takes the lock. An invalid configuration is logged and not used. Call
 * handler_close() even after a failure.
 */
int handler_open(struct handler *handler, const char *root, const char *config_path, struct err *err);
void handler_close(struct handler *handler);

/* Reads the configuration again. An invalid one is logged, and the old one stays. */
void handler_reload(struct handler *handler);

/*
 * Takes the lock, unless this process holds it in the current directory. If the directory was replaced, the hook does
 * not see the old lock.
 */
int handler_hold_lock(struct handler *handler, struct err *err);

/* Makes one pass. Its outcome is in handler->last. After an error, which is logged, the next pass is due soon. */
void handler_pass(struct handler *handler);

/* Starts a pass in a process of its own, with the handler's lock held. False: the start failed. */
bool pass_start(struct handler *handler);

/*
 * When the process of the pass is killed. The next pass is due at `next_ms`, or at an earlier time that this pass has
 * left. A pass asks libvirt last; once the next pass is due, libvirt has ASKING_MS left to answer.
 */
int64_t pass_late_ms(const struct handler *handler, int64_t next_ms);

/*
 * Ends a pass whose `end` is readable, or kills one that is late. The outcome is in handler->last. Returns the
 * processor time of the pass in ms.
 */
int64_t pass_end(struct handler *handler);

/* Kills the process of a pass, if one runs. */
void pass_stop(struct handler *handler);
