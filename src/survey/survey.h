/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * All that plan needs to know, brought together: inventory, pool, leases that count, what is known of each device,
 * what could make room.
 *
 * What is cheap is read always; what costs a pass over all processes (who has a device open) or over libvirt's files,
 * only where a rule asks for it.
 */
#pragma once

#include "survey/framework_change.h"
#include "host/vfio_users.h"
#include "host/libvirt_files.h"
#include "plan/plan.h"
#include "state/history.h"

struct survey {
	const struct host *host;
	struct store *store;
	const struct config *config;   /* NULL: none */
	const struct request *asked;   /* as the domain has it */
	const struct request *request; /* as it is served here: with what crosses to another framework */
	struct framework_change framework_change;
	enum plan_mode mode;
	bool all_types;      /* read every type, not only those that the request and the leases name */
	bool explains;       /* why a card is not chosen is asked: read the types of the configuration, too */
	int64_t deadline_ms; /* of the operation (host_now_ms()); 0 none */
	bool dry;            /* write nothing, not even since when a device has been seen free */
	struct resolved_request *resolved_requests;
	struct inventory inv;
	bool has_inv;
	int64_t looked_ms; /* CLOCK_MONOTONIC before the host was read */
	struct pool pool;
	struct leases leases; /* without those that are void */
	struct device_facts *devices;
	struct device_facts *vfs;   /* one for each parent; NULL where no VF is asked for */
	int libvirt;                /* its version; 0 not known */
	struct vfio_users *users;   /* NULL until somebody asked */
	struct libvirt_files *disk; /* likewise */
	char (*looked_at)[ID_SIZE]; /* the devices that there were then, each of which can have been found open */
	size_t nlooked_at;
	bool unseen; /* a rule asks of a device that was not there then whether it is open */
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

/* Starts a survey for a request: finds its wishes. All that is handed over must outlive the survey. */
int survey_start(struct survey *survey, const struct host *host, struct store *store, const struct config *config,
		 const struct request *request, enum plan_mode mode, struct err *err);
void survey_end(struct survey *survey);

/* Reads the host's devices anew, with the types that the request names and those of the leases that were read last. */
int survey_host(struct survey *survey, struct err *err);

/*
 * Looks who has a device open, where a rule asks for that: before the store's lock is taken, as it can take its time
 * (a quarter of a second for a start, which need not know). Where survey_leases() finds under the lock that a rule asks
 * of a device that has come since, it sets `unseen`: look again.
 */
int survey_processes(struct survey *survey, struct err *err);

/*
 * Reads the leases anew and leaves out what is void: reservations past their deadline, creations whose writer is dead
 * and whose device is absent; under the store's lock those are dropped. Then says of the devices what a rule
 * asks: whether one is open. Reads the host again where a lease is of a type that was not read.
 */
int survey_leases(struct survey *survey, struct err *err);

/*
 * Looks for what may be removed to make room: orphans (as [policy] reclaim allows, noting since when they have been
 * seen free), and devices of ours whose domain is gone or that are only waiting to be given back. And for what a
 * refusal is to say: from now on `explains` is set, and what is read next tells of cards that the host lacks, and of
 * those that make the type for another kind of hostdev.
 */
int survey_look(struct survey *survey, struct err *err);

/* What could make room is to be looked for anew. */
void survey_forget_reclaimable(struct survey *survey);

/* Remembers that what may go could not be removed: it makes no room in this run. */
void survey_stuck(struct survey *survey, const char *id);

/* Remembers that a candidate failed. */
void survey_failed_attempt(struct survey *survey, const char *pgpu, const char *type, enum cause cause,
			   const char *reason);

/* The facts for plan, as they stand. */
struct plan_facts survey_facts(const struct survey *survey);
