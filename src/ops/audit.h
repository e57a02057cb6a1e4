/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Would a start be refused now, and is all as it was meant? The configuration, the host beside it, a start of each
 * enabled type as the hook would plan it, what libvirt and mdevctl have on disk, the state.
 *
 * Looks only, and writes nothing. All that is looked at is a finding, also where it is well.
 *
 *     audit.c         the configuration's files; the findings
 *     audit_pool.c    the pGPUs that it names or matches
 *     audit_start.c   a start of each enabled type
 *     audit_host.c    the hook's place, mdevctl's definitions
 *     audit_libvirt.c whether libvirt has looked for the hook since it came
 *     audit_domain.c  the metadata of defined domains
 *     audit_state.c   the state: may it be written, what is in it
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "config/config.h"
#include "base/host.h"
#include "plan/pool.h"

enum audit_status {
	AUDIT_PASS,
	AUDIT_WARN, /* worth a look: a start may be refused as things are, and nothing is broken */
	AUDIT_FAIL  /* something is broken, or not as the configuration says */
};

struct finding {
	enum audit_status status;
	const char *what; /* what was looked at, one word: config, pgpu, type, hook, ... */
	char *where;      /* a file with its line, a card, a path; NULL: the host */
	char *text;
	char *fix; /* what to do; NULL only where it is well */
};

struct audit {
	const struct host *host;
	const char *config_path; /* as config_load() takes it */
	bool simulated;          /* the host is a folder */
	/* the result */
	struct finding *findings;
	size_t n, count[AUDIT_FAIL + 1]; /* and how many of each status */
	size_t ncards, npool;            /* pGPUs of the host, and those of them that are in the pool */
};

void audit_run(struct audit *audit);

/* Only the pGPUs that the configuration gives to the pool, and a start of each type. `config` is the one that holds. */
void audit_pool(struct audit *audit, const struct config *config);

void audit_free(struct audit *audit);

/*
 * For the parts of this module. audit_pass() notes what is well; audit_note() what is not, with its fix. `where` may be
 * NULL.
 */
void audit_pass(struct audit *audit, const char *what, const char *where, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
void audit_note(struct audit *audit, enum audit_status status, const char *what, const char *where, const char *fix,
		const char *fmt, ...) __attribute__((format(printf, 6, 7)));

enum { AUDIT_WHERE = 600 };

/* "FILE:LINE", or the file alone; for `where`. */
const char *audit_place(char where[AUDIT_WHERE], const struct place *place);

/* A path of the host, for `where`. */
const char *audit_path(char where[AUDIT_WHERE], const struct audit *audit, const char *path);

/* The cards that the configuration names, those that it matches, those that are in nobody's pool. */
void audit_cards(struct audit *audit, const struct pool *pool);

/* A start of each enabled type. */
void audit_starts(struct audit *audit, const struct pool *pool);

/* libvirt's hooks; whether libvirt knows of them; mdevctl's definitions beside the pool. */
void audit_hook(struct audit *audit);
void audit_libvirt(struct audit *audit);
void audit_definitions(struct audit *audit, const struct pool *pool);

/* The domains that libvirt has defined: metadata that have no effect. */
void audit_domains(struct audit *audit);

/* `config` NULL: it cannot be read. */
void audit_state(struct audit *audit, const struct config *config);
