/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The configuration: the pGPUs and VFs that the administrator assigns to the pool, and the policy for sharing them.
 *
 * One mistake makes the whole configuration invalid, so that a mistake never leads to an unintended pool. The hardware
 * of the host is not checked here.
 */
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/ident.h"
#include "sys/sys.h"
#include "model/vgpu.h"

enum {
	CLASS_SIZE = 256,
	NO_LIMIT = -1,
	CONFIG_MISTAKES_MAX = 50,
	CONFIG_GRACE_MAX_S = 365 * 86400,
};

/* A place in a file, for messages. The configuration owns the names. */
struct location {
	const char *file;
	int line;                  /* 0: the file as a whole */
	const char *section, *key; /* NULL in messages about a whole file or section */
	bool nova;                 /* in a nova.conf: a mistake's message suggests a section in vgpu-lease.conf */
};

/* An item of a list and its place. The configuration owns the text. */
struct item {
	const char *text;
	struct location at;
};

/* One alternative of device_match: a device must match all terms that are set. */
struct match {
	char vendor[5], device[5]; /* four lower-case hex digits; "" any */
	char subdevice[5];         /* the board's subsystem device ID, also four hex digits; "" any */
	int numa;                  /* NUMA node; -1 any */
	struct location at;
};

/* [mdev_TYPE], [vgpu_TYPE] or [vf_NAME]. An enabled type without a section has one with the defaults. */
struct section {
	char type[TYPE_SIZE];
	bool vf;   /* a [vf_NAME] section, for plain VFs; `type` is NAME */
	bool nova; /* nova.conf enables the type */
	struct item *addresses;
	size_t naddresses;
	struct match *matches;
	size_t nmatches;
	int max_instances; /* per pGPU, or NO_LIMIT */
	char class[CLASS_SIZE];
	char params[PARAMS_SIZE]; /* vgpu_params; "" none */
	struct location at;       /* the header or, without a section, the entry that enables the type */
};

struct policy {
	enum placement placement;
	bool migrate_keep; /* migrate_uuid = keep */
	int reuse_free;    /* true or false; -1 until a file sets it or all files are read */
	bool reclaim_orphans;
	bool nova;           /* nova_conf is set, so Nova manages the pool's mdevs and their definitions */
	bool mismatch_warns; /* driver_mismatch = warn */
	bool cross_framework;
	bool metrics;
	bool several_types; /* pgpu_types = several: a pGPU provides all types that are configured for it */
	int reclaim_grace_s, reserve_ttl_s, create_timeout_s, start_grace_s, release_wait_s, release_timeout_s,
		driver_cleanup_s, lock_timeout_s;
};

/* How long a release may wait for the guest's QEMU and for the driver, in ms. */
static inline int64_t policy_release_ms(const struct policy *policy)
{
	return (int64_t)(policy->release_timeout_s + policy->driver_cleanup_s) * 1000;
}

/* The longest time to create one vGPU and, after a failure, to undo that, in ms. A pGPU's lock is not held longer. */
enum { UNDO_MS = 2000 };
static inline int64_t policy_create_ms(const struct policy *policy)
{
	return (int64_t)policy->create_timeout_s * 1000 + UNDO_MS;
}

struct quota {
	char project[PROJECT_SIZE];
	int limit; /* vGPUs on this host, or NO_LIMIT */
	struct location at;
};

/* Messages about the files. A warning with code ENODEV is about types without a pGPU, or that no type is enabled. */
struct config_notes {
	struct err *list;
	size_t n;
};

struct config {
	struct section *sections; /* in the order of enabled_mdev_types; then the vf sections in file order */
	size_t nsections;
	struct policy policy;
	int quota_default; /* for each project without a limit of its own */
	int quota_none;    /* for domains without a project */
	struct quota *quotas;
	size_t nquotas;
	struct config_notes warnings;
	char **files;
	size_t nfiles;
	char **names; /* list items, section names */
	size_t nnames;
	struct err why; /* why the configuration is not valid, so that it has the defaults; .code 0: it is valid */
};

static inline bool config_is_valid(const struct config *config)
{
	return config->why.code == 0;
}

/* What to do about `why`, after its text; "": the text says it. */
static inline const char *config_fix(const struct config *config)
{
	return config->why.code == ENOENT ? "; create one with 'vgpu-lease init --write'" : "";
}

/* Sets the defaults. A release and a reconnect use them if the configuration is not valid. */
void config_default(struct config *config);

/*
 * Reads etc/vgpu-lease.conf and etc/vgpu-lease.conf.d/ *.conf (by name) below the host's root, or `path` and
 * `path`.d/ *.conf, not below the root. Then reads [devices] and [mdev_*] of the files that nova_conf names. A key in a
 * later file of ours replaces an earlier one. An option of a nova.conf counts only if our files do not set it. Returns:
 *   0: success; config_free() frees `config`
 *   -ENOENT: the file does not exist
 *   -EINVAL: there are mistakes; `err` has the first, with file and line
 *   other: a file cannot be read or trusted; `err` says why
 * After a failure `config` has the defaults, `why`, and nothing to free.
 *
 * Reading continues after a mistake, but checks that depend on its correction are skipped. `mistakes` (or NULL) gets
 * the first CONFIG_MISTAKES_MAX - 1 and the last one, which config_notes_free() frees.
 */
int config_load(struct config *config, const struct host *host, const char *path, struct config_notes *mistakes,
		struct err *err);
void config_notes_free(struct config_notes *notes);

void config_free(struct config *config);

/* Returns the section of a type, or NULL if the type is not enabled. */
const struct section *config_section(const struct config *config, const char *type);

/* True if a type's section has neither addresses nor matches. The first one gets all pGPUs that no section names. */
bool config_takes_rest(const struct section *section);

/* The vGPU limit of a project on this host. `project` "": the limit of domains without a project. */
int config_quota(const struct config *config, const char *project);
