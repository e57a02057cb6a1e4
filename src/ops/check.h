/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Would a start be refused now, and is all as it was meant? The configuration, the host beside it, a start of each
 * enabled type as the hook would plan it, what libvirt and mdevctl have on disk, the state.
 *
 * Looks only, and writes nothing. All that is looked at is a finding, also where it is well.
 *
 *     check.c         the configuration's files; the findings
 *     check_pool.c    the pGPUs that it names or matches
 *     check_start.c   a start of each enabled type
 *     check_host.c    the hook's place, mdevctl's definitions
 *     check_libvirt.c whether libvirt has looked for the hook since it came
 *     check_domain.c  the metadata of defined domains
 *     check_state.c   the state: may it be written, what is in it
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "config/config.h"
#include "base/host.h"
#include "plan/pool.h"

enum check_status {
	CHECK_PASS,
	CHECK_WARN, /* worth a look: a start may be refused as things are, and nothing is broken */
	CHECK_FAIL  /* something is broken, or not as the configuration says */
};

struct finding {
	enum check_status status;
	const char *what; /* what was looked at, one word: config, pgpu, type, hook, ... */
	char *where;      /* a file with its line, a card, a path; NULL: the host */
	char *text;
	char *fix; /* what to do; NULL only where it is well */
};

struct check {
	const struct host *host;
	const char *config_path; /* as config_load() takes it */
	bool simulated;          /* the host is a folder */
	/* the result */
	struct finding *findings;
	size_t n, count[CHECK_FAIL + 1]; /* and how many of each status */
	size_t ncards, npool;            /* pGPUs of the host, and those of them that are in the pool */
};

void check_run(struct check *check);

/* Only the pGPUs that the configuration gives to the pool, and a start of each type. `config` is the one that holds. */
void check_pool(struct check *check, const struct config *config);

void check_free(struct check *check);

/*
 * For the parts of this module. check_pass() notes what is well; check_note() what is not, with its fix. `where` may be
 * NULL.
 */
void check_pass(struct check *check, const char *what, const char *where, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
void check_note(struct check *check, enum check_status status, const char *what, const char *where, const char *fix,
		const char *fmt, ...) __attribute__((format(printf, 6, 7)));

enum { CHECK_WHERE = 600 };

/* "FILE:LINE", or the file alone; for `where`. */
const char *check_place(char where[CHECK_WHERE], const struct place *place);

/* A path of the host, for `where`. */
const char *check_path(char where[CHECK_WHERE], const struct check *check, const char *path);

/* The cards that the configuration names, those that it matches, those that are in nobody's pool. */
void check_cards(struct check *check, const struct pool *pool);

/* A start of each enabled type. */
void check_starts(struct check *check, const struct pool *pool);

/* libvirt's hooks; whether libvirt knows of them; mdevctl's definitions beside the pool. */
void check_hook(struct check *check);
void check_libvirt(struct check *check);
void check_definitions(struct check *check, const struct pool *pool);

/* The domains that libvirt has defined: metadata that have no effect. */
void check_domains(struct check *check);

/* `config` NULL: it cannot be read. */
void check_state(struct check *check, const struct config *config);
