/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks whether starts would succeed, and whether the host is as configured. The checks only read. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "sys/sys.h"
#include "config/config.h"
#include "act/gc.h"
#include "act/preview.h"
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
	/* The caller's survey; NULL: check_run() reads the host. If set, each lock is watched for a second at most. */
	struct world *seen;
	const struct config *config; /* NULL: check_run() reads and checks the configuration */
	bool only_pool;              /* check only pGPUs and types; requires `config` */
	/* The results of check_run(). */
	struct finding *findings;
	size_t n, count[CHECK_FAIL + 1]; /* findings in total, and by status */
	size_t ncards, npool;            /* pGPUs on the host, and in the pool */
	/* Used only while the checks run. */
	const char *what;             /* the name of the running check */
	char where[CHECK_WHERE_SIZE]; /* the place of the findings that follow; "": the host */
	char fix[REASON_SIZE];        /* the fix of the next finding, from check_fix() */
	const struct inventory *inv;  /* NULL: no valid configuration, or the host is unreadable */
	struct world *world;          /* `seen`, or a survey by check_run(); has no leases if they cannot be read */
	struct plan plan;             /* made by the last check_plan() */
	struct err no_start;          /* why check_plan() cannot plan a start; .code 0: it can */
	struct store store;
	struct err store_err;       /* why `store` is not open; .code 0: `store` is open */
	struct libvirt_files *disk; /* NULL: unreadable, or `only_pool` is set */
	bool *explained;            /* explained[i]: a finding says why a pGPU does not provide the type of section i */
};

void check_run(struct check *check);

void check_free(struct check *check);

/*
 * metrics.c: prints the metrics of vgpu-lease(8) in Prometheus' text format, from a full `world` and `pass`. Negative:
 * the leases cannot be read, and nothing is printed.
 */
int metrics_print(FILE *to, const struct world *world, const struct gc *pass, bool config_valid, struct err *err);
