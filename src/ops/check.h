/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Would a start be refused now, and is the host as the configuration says? Reads only; whatever is looked at is a
 * finding, also where it is well. The table in check.c names the checks, in their order; check_*.c hold them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "sys/sys.h"
#include "config/config.h"
#include "plan/pool.h"
#include "state/lease_store.h"
#include "state/store.h"

enum check_status {
	CHECK_PASS,
	CHECK_WARN, /* requires attention, but nothing is broken */
	CHECK_FAIL  /* broken, or different from the configuration */
};

struct finding {
	enum check_status status;
	const char *what; /* the check's name: config, pgpu, type, hook, ... */
	char *where;      /* a file with its line, a pGPU, a path; NULL: the host */
	char *text;
	char *fix; /* what to do; NULL with CHECK_PASS */
};

enum { CHECK_WHERE_SIZE = 600 };

struct check {
	const struct host *host;
	const char *config_path; /* as config_load() takes it */
	bool simulated;          /* the host is a directory */
	bool glance;             /* a lock that is held is not observed for as long as a start would wait */
	/* the result */
	struct finding *findings;
	size_t n, count[CHECK_FAIL + 1]; /* and how many of each status */
	size_t ncards, npool;            /* pGPUs of the host, and those of them that are in the pool */
	/* while it runs: what all checks share, read once */
	const char *what;             /* the check that runs */
	char where[CHECK_WHERE_SIZE]; /* of its next finding; "" the host */
	char fix[REASON_SIZE];        /* likewise, as check_fix() has it */
	const struct config *config;  /* NULL: it cannot be read */
	const struct inventory *inv;  /* NULL: neither configuration nor host, or one of them, cannot be read */
	struct store store;
	int has_store; /* 0, or the error of opening it, whose text is `store_err` */
	struct err store_err;
	struct leases leases; /* as far as they can be read */
	bool *explained;      /* of each section: a finding about a pGPU says why that does not serve it */
};

void check_run(struct check *check);

/* Only the pGPUs that the configuration gives to the pool, and a start of each type. `config` is the one in effect. */
void check_pool(struct check *check, const struct config *config);

void check_free(struct check *check);
