/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * All that plan needs to know, brought together: inventory, pool, leases that count, what is known of each device,
 * what could make capacity.
 *
 * Whoever decides holds the store's lock from survey_read() until what it decided is written in leases; what takes its
 * time without asking a driver, a look at all processes and libvirt's files, is done before (survey_ahead()). Neither
 * changes anything on the host: survey_record() does.
 */
#pragma once

#include "host/vfio_users.h"
#include "host/libvirt_files.h"
#include "plan/plan.h"
#include "state/history.h"

/* How much is read: what costs more is read only for what asks for it. */
enum survey_depth {
	SURVEY_START,     /* the types, cards and frameworks that the request and the leases can concern */
	SURVEY_INVENTORY, /* every type of every card */
	SURVEY_EXPLAIN,   /* also what a refusal names: cards of other frameworks and types, cards that are missing */
	SURVEY_RECLAIM,   /* also what may be removed to make capacity: a look at all processes and libvirt's files */
};

struct survey {
	/* Set by the caller, and must outlive the survey. */
	const struct host *host;
	struct store *store;
	const struct config *config; /* NULL: none is in effect, */
	const char *why_no_config;   /* and why */
	const struct request *asked; /* as the domain has it */
	enum plan_mode mode;
	enum survey_depth depth; /* of the next read */
	int64_t deadline_ms;     /* of the operation (sys_now_ms()); 0 none */
	bool dry;                /* write nothing, not even since when a device has been seen free */

	const struct request *request; /* as it is served here: with what crosses to another framework */
	struct request changed;        /* that request, its vGPUs owned; unused where nothing changes its framework */
	struct resolved_request *resolved_requests;
	struct inventory inv;
	const char **types; /* that were read, in one allocation; those of SURVEY_INVENTORY are not all here */
	bool has_inv;
	bool some_cards; /* of PCI hostdevs only the cards of those that the request names were read */
	struct pool pool;
	struct leases leases;       /* without those that are void */
	struct leases void_leases;  /* nothing stands behind these any more */
	int libvirt;                /* its version; 0 not known */
	struct vfio_users *users;   /* NULL until somebody asked */
	struct libvirt_files *disk; /* likewise */
	int64_t looked_ms;          /* CLOCK_MONOTONIC before these were read */
	char (*looked_at)[ID_SIZE]; /* the mdevs that there were then, each of which can have been found open */
	size_t nlooked_at;
	bool asks;   /* a rule asks who has a device open, */
	bool unseen; /* and nobody has looked since that came: it is not known */
	struct reclaimable *reclaimable;
	size_t nreclaimable;
	bool reclaimable_known;
	struct reclaimable *stuck; /* could not be removed in this run */
	size_t nstuck;
	struct missing_card *missing_cards;
	size_t nmissing_cards;
	struct failed_attempt *failed_attempts;
	size_t nfailed_attempts;
	struct failure *failures; /* of other runs */
	size_t nfailures;
};

/* Starts a survey with what the caller has set: resolves the request. survey_end() follows in any case. */
int survey_start(struct survey *survey, struct err *err);
void survey_end(struct survey *survey);

#define autosurvey __attribute__((cleanup(survey_end)))

/*
 * What is known of each vGPU of a request, one for each; the caller frees *out, also after a failure. -ENOENT: a type
 * that is asked for is known neither here nor to the pool: the known ones are listed.
 */
int survey_resolve(struct resolved_request **out, const struct request *request, const struct survey *survey,
		   struct err *err);

/*
 * Before survey_read(), not under the store's lock: looks at all processes, where the read will ask who has a device
 * open (a quarter of a second for a start, which need not know), and at libvirt's files.
 */
int survey_ahead(struct survey *survey, struct err *err);

/*
 * Reads the leases and the host, as deep as `depth` says; sets apart what is void (reservations past their deadline,
 * creations whose writer is dead and whose device is absent). Whoever decides holds the store's lock meanwhile: no
 * lease changes between the two, nor until what was decided is written. `unseen`: survey_ahead(), and again.
 */
int survey_read(struct survey *survey, struct err *err);

/* The same for who decides nothing, without the lock, and with the look at processes where one is asked for. */
int survey_see(struct survey *survey, struct err *err);

/* Under the lock: drops what is void, and remembers what the host said of types and drivers. */
int survey_record(struct survey *survey, struct err *err);

/*
 * Adds to a survey of SURVEY_EXPLAIN, without the lock, what SURVEY_RECLAIM reads: orphans (as [policy] reclaim allows, noting since when
 * they have been seen free), and devices of ours whose domain is gone or that are only waiting to be released.
 */
int survey_look(struct survey *survey, struct err *err);

/* Remembers that what may go could not be removed: it makes no capacity in this run. */
void survey_stuck(struct survey *survey, const char *id);

/* Remembers what of a candidate failed. */
void survey_failed_attempt(struct survey *survey, const struct vgpu_ref *vgpu, enum failed_part part, enum cause cause,
			   const char *reason);

/* The facts for plan, as they stand. */
struct plan_facts survey_facts(const struct survey *survey);
