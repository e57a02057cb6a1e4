/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The device handler without its loop: its configuration, its lock, and a pass over everything.
 *
 * All state that matters is in the leases. What the handler remembers (leases seen attached, lines logged) only saves
 * time and log lines. While its lock is held, the hook leaves slow releases to it (finisher).
 */
#pragma once

#include <stdbool.h>

#include "config/config.h"
#include "base/err.h"
#include "sys/sys.h"
#include "daemon/finisher.h"
#include "daemon/orphans.h"
#include "state/store.h"

struct handler {
	struct host host;
	const char *config_path;
	struct config config;
	bool has_config; /* a valid one was read; false: `config` holds the defaults */
	bool is_valid;   /* the file was valid when last read; the hook reads it each time */
	int lock;        /* handler.lock */
	struct finisher *finisher;
	struct lease_marks seen; /* leases whose domain had the device at the last pass */
	char *reported;          /* the report of the last pass */
	char status[512];        /* the outcome of the last pass, printable, for people */
};

/*
 * Opens the host, reads the configuration (an invalid one is logged and not used), takes the lock, and starts to
 * complete releases. Call handler_close() even after a failure.
 */
int handler_open(struct handler *handler, const char *root, const char *config_path, struct err *err);
void handler_close(struct handler *handler);

/* Reads the configuration again. An invalid one is logged, and the old one stays. */
void handler_reload(struct handler *handler);

/* Writes to libvirt what the last look at the host says about the vGPUs of its domains. */
typedef void running_told(void *arg, const struct store *store, const struct inventory *inv);

/* The running domains, for a pass. */
struct running {
	const struct live_domain *domains;
	size_t n;
	int64_t looked_ms;    /* CLOCK_MONOTONIC before libvirt was asked for them */
	const char *libvirt;  /* the state of the connection, for the status line */
	orphans_named *named; /* which devices libvirt's domains name; NULL: libvirt is not asked */
	running_told *told;   /* called after a pass that has judged everything; NULL: libvirt is not told */
	void *arg;
};

/*
 * Makes one pass. Returns when the next is due, CLOCK_MONOTONIC: at a lease's deadline, or after the interval of full
 * looks. Errors are logged, and tried again soon.
 */
int64_t handler_pass(struct handler *handler, const struct running *running);
