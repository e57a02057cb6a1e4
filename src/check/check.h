/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Would a start be refused now, and is the host as configured? The checks only read. check.c calls them in order;
 * check_*.c contain them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "sys/sys.h"
#include "config/config.h"
#include "act/preview.h"
#include "look/pool.h"
#include "state/store.h"

enum check_status {
	CHECK_PASS,
	CHECK_WARN, /* requires attention, but nothing is broken */
	CHECK_FAIL  /* broken, or different from the configuration */
};

struct finding {
	enum check_status status;
	const char *what; /* the check's name: config, pgpu, type, hook, ... */
	char *where;      /* FILE:LINE, a path, a pGPU, a vGPU or a project; NULL: the host */
	char *text;
	char *fix; /* what to do; NULL with CHECK_PASS */
};

enum { CHECK_WHERE_SIZE = 600 };

struct check {
	const struct host *host;
	const char *config_path; /* the argument of config_load() */
	/*
	 * The caller's survey of this host (survey_see()); NULL: the check reads the host. With `seen`, the check waits
	 * only briefly for a lock.
	 */
	struct world *seen;
	const struct config *config; /* NULL: check_run() reads the configuration, or reports why it cannot be used */
	bool only_pool;              /* check only pGPUs and types of the pool; `config` must be set */
	/* The result. */
	struct finding *findings;
	size_t n, count[CHECK_FAIL + 1]; /* the number of findings, and of those with each status */
	size_t ncards, npool;            /* the number of pGPUs on the host, and of those in the pool */
	/* While the checks run. */
	const char *what;             /* the name of the running check */
	char where[CHECK_WHERE_SIZE]; /* the place of the next finding; "": the host */
	char fix[REASON_SIZE];        /* the fix of the next finding, from check_fix() */
	const struct inventory *inv;  /* NULL: no valid configuration, or the host is unreadable */
	struct world *world;          /* `seen`, or the check's own; without leases if any cannot be read */
	struct plan plan;             /* the plan of the last start that was planned */
	struct err no_start;          /* why starts cannot be planned; .code 0: they can */
	struct store store;
	struct err store_err;       /* why `store` is not open; .code 0: it is */
	struct libvirt_files *disk; /* NULL: unreadable, or `only_pool` is set */
	bool *explained;            /* for each section, whether a finding says why a pGPU does not provide its type */
};

void check_run(struct check *check);

void check_free(struct check *check);
