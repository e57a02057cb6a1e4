/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The configuration: what is in the pool, and how it is shared out.
 *
 * /etc/vgpu-lease.conf, its drop-ins, and the [devices] and [mdev_*] sections of the files of Nova that it names. A
 * file is accepted as a whole or refused with file and line: a mistake never leads to a pool other than the intended
 * one. What the host has is not looked at here.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/ident.h"
#include "sys/sys.h"
#include "model/request.h"

enum {
	CLASS_SIZE = 256,
	SECTION_SIZE = 50, /* inih keeps 49 characters of a section's name and cuts the rest silently */
	NO_LIMIT = -1,
	CONFIG_MISTAKES_MAX = 50,
	CONFIG_GRACE_MAX_S = 365 * 86400, /* reclaim_grace */
};

/* Where something is written, for messages. The names belong to the configuration. */
struct location {
	const char *file;
	int line;                  /* 0: the file as a whole */
	const char *section, *key; /* NULL in messages on a whole file or section */
	bool nova;                 /* in a nova.conf: an error says where else it can stand */
};

/* One alternative of device_match: all terms that are set must hold. */
struct match {
	char vendor[5], device[5]; /* four hex digits in lower case; "" any */
	char subdevice[5];         /* of the board's subsystem, likewise */
	int numa;                  /* node; -1 any */
	struct location at;
};

/*
 * [mdev_TYPE], [vgpu_TYPE] or [vf_NAME]; a type that is enabled without a section of its own has one with the
 * defaults.
 */
struct section {
	char type[TYPE_SIZE];
	bool vf;   /* plain VFs: a [vf_NAME] section, `type` is its NAME */
	bool nova; /* nova.conf enables its type, or in a draft: it stands there */
	char (*addresses)[PARENT_SIZE];
	struct location *addresses_at; /* of each: where it stands */
	size_t naddresses;
	struct match *matches;
	size_t nmatches;
	int max_instances; /* per pGPU; NO_LIMIT where there is none */
	char class[CLASS_SIZE];
	char params[PARAMS_SIZE];   /* vgpu_params; "" none */
	struct location at;         /* line 0: the type is only enabled there, it has no section */
	struct location enabled_at; /* of a type: where it is enabled */
};

struct policy {
	enum placement placement;
	bool migrate_keep; /* migrate_uuid = keep */
	bool reuse_free;
	bool reclaim_orphans;
	bool nova;           /* nova_conf is set: the mdevs of the pool are Nova's, its definitions included */
	bool mismatch_warns; /* driver_mismatch = warn */
	bool cross_framework;
	bool metrics;       /* the handler writes them to a file */
	bool several_types; /* pgpu_types = several: a pGPU serves all types that it is given to */
	int reclaim_grace_s, reserve_ttl_s, create_timeout_s, start_grace_s, release_wait_s, release_timeout_s,
		driver_cleanup_s, lock_timeout_s;
};

struct quota {
	char project[PROJECT_SIZE];
	int limit; /* vGPUs on this host; NO_LIMIT */
	struct location at;
};

/* A sentence about the files, whose first bytes say where: "FILE:LINE: "; where 0: it is about no file. */
struct config_note {
	char *text;
	size_t where;
	char word[ERR_WORD_SIZE]; /* as an error has it */
	bool of_pool; /* a warning that a type gets no card: `check` finds that by itself, with others of its kind */
};

struct config_notes {
	struct config_note *list;
	size_t n;
};

struct config {
	struct section *sections; /* as enabled_mdev_types has them, then the vf sections as the files have them */
	size_t nsections;
	struct policy policy;
	int quota_default; /* for each project that has no line of its own */
	int quota_none;    /* for domains without a project */
	struct quota *quotas;
	size_t nquotas;
	struct config_notes warnings; /* for `check` and the log */
	char **files;                 /* names of the files that were read, and of their sections, for locations */
	size_t nfiles;
	char **names;
	size_t nnames;
};

/* The defaults that hold without any file; release and reconnect work with them under a broken configuration. */
void config_default(struct config *config);

/*
 * Reads the configuration: etc/vgpu-lease.conf and etc/vgpu-lease.conf.d/ *.conf below the host's root in the order
 * of their names, or `path` and `path`.d/ *.conf, taken as it is, not below the root, where it is not NULL; then the
 * nova.conf that they name. A key of a later file of ours replaces that of an earlier one; what nova.conf says counts
 * only where ours say nothing.
 * -ENOENT: there is no such file. Any other failure: what is wrong, with file and line, or why a file cannot be read
 * or trusted. After a failure `config` holds the defaults, and nothing that must be freed.
 */
int config_load(struct config *config, const struct host *host, const char *path, struct err *err);

/*
 * The same, but it goes on after a mistake: `mistakes` gets them all, at most CONFIG_MISTAKES_MAX, except those that
 * cannot be found before another one is corrected; `err` gets the first. `mistakes` starts empty; config_notes_free().
 */
int config_load_all(struct config *config, const struct host *host, const char *path, struct config_notes *mistakes,
		    struct err *err);
void config_notes_free(struct config_notes *notes);

/*
 * config_load() from one text in memory; `name` stands for the file in messages. nova_conf is looked up below `host`,
 * or refused where that is NULL.
 */
int config_parse(struct config *config, const char *name, const char *text, size_t len, const struct host *host,
		 struct err *err);

void config_free(struct config *config);

/* Where a type is configured: its section, or the entry that enables it. */
struct location config_location(const struct section *section);

/* The section of a type, NULL where it is not enabled. */
const struct section *config_section(const struct config *config, const char *type);

/* Does it get the pGPUs that no section names, unless another such section precedes it? */
bool config_takes_rest(const struct section *section);

/* How many vGPUs a project may hold on this host; "": a domain without a project. */
int config_quota(const struct config *config, const char *project);
