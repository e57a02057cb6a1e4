/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The device handler without its loop: the configuration that holds, its lock, and a pass over all there is.
 *
 * It owns no state that matters: all of it is in the leases, and what it remembers (what was seen plugged in, what was
 * logged) saves time and lines. While its lock is held the hook leaves slow releases to it (finisher).
 */
#pragma once

#include <stdbool.h>

#include "config/config.h"
#include "base/err.h"
#include "sys/sys.h"
#include "daemon/finisher.h"
#include "daemon/reconcile.h"
#include "state/store.h"

struct handler {
	struct host host;
	const char *config_path;
	struct config config;
	bool has_config; /* one that is valid; else `config` holds the defaults */
	bool is_valid;   /* so was the file when it was last read: the hook reads it anew each time */
	int lock;        /* handler.lock */
	struct finisher *finisher;
	struct lease_marks plugged;
	char *reported;   /* the lines of the last pass */
	char status[512]; /* how it went, printable: a line for people */
};

/*
 * Opens the host, reads the configuration (one with an error is logged, and is none), takes the lock and starts to
 * complete releases. handler_close() also after a failure.
 */
int handler_open(struct handler *handler, const char *root, const char *config_path, struct err *err);
void handler_close(struct handler *handler);

/* Reads the configuration anew; one with an error is logged, and the old one stays. */
void handler_reload(struct handler *handler);

/* What runs, for a pass. */
struct running {
	const struct live_domain *domains;
	size_t n;
	int64_t looked_ms;      /* CLOCK_MONOTONIC before libvirt was asked for them */
	const char *libvirt;    /* how things are with libvirt, for the status line */
	reconcile_named *named; /* whom libvirt names; NULL: it is not asked */
	void *arg;
};

/*
 * One pass. When the next is due, CLOCK_MONOTONIC: a lease has a deadline then, or all is looked at again. What goes
 * wrong is logged, and tried again soon.
 */
int64_t handler_pass(struct handler *handler, const struct running *running);
