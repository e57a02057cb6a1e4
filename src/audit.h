/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Is everything as it should be? The configuration, the host beside it, what libvirt and mdevctl have on disk, the
 * state.
 *
 * Looks only, and writes nothing. Each finding is a sentence that says what to do.
 *
 * Depends on: collect, config, host, inventory, lease, ondisk, pool, store. Knows nothing of who asks.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "config.h"
#include "host.h"
#include "pool.h"

enum audit_level {
	AUDIT_ERROR,  /* something does not work, or not as it was meant */
	AUDIT_WARNING /* worth a look */
};

struct finding {
	enum audit_level level;
	char *where; /* a file with its line, a card, a folder; NULL where the text says it */
	char *text;
};

struct audit {
	const struct host *host;
	const char *config_path; /* as config_load() takes it */
	bool simulated;          /* the host is a folder: it has no libvirt of its own */
	/* the result */
	struct finding *findings;
	size_t n, nerrors;
	size_t ncards, npool; /* pGPUs of the host, and those of them that are in the pool */
};

void audit_run(struct audit *audit);

/* Only the pGPUs that the configuration names: are they there, and ready? `config` is the one that holds. */
void audit_pool(struct audit *audit, const struct config *config);

void audit_free(struct audit *audit);

/* For the parts of this module: notes a finding. `where` may be NULL. */
void audit_note(struct audit *audit, enum audit_level level, const char *where, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* audit_host.c: libvirt's hooks, mdevctl's definitions beside the pool (NULL: none to compare with), the state. */
void audit_hook(struct audit *audit);
void audit_definitions(struct audit *audit, const struct pool *pool);
void audit_state(struct audit *audit, const struct config *config);
