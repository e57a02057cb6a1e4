/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The world: domains with their libvirt, hook calls, commands, the handler, others: a process each; and the rules. */
#pragma once

#include "model/simulation/driver.h"
#include "model/simulation/processes.h"
#include "act/lifecycle.h"
#include "state/store.h"

enum { DOMAINS = 14, DOMAIN_WANTS = 2 };

struct domain {
	char name[16], uuid[UUID_SIZE];
	int nvgpus;
	bool shares;                         /* its first UUID, with another domain */
	char first[DOMAIN_WANTS][UUID_SIZE]; /* as defined */
	char req[DOMAIN_WANTS][UUID_SIZE];   /* as it arrived */
	const char *type[DOMAIN_WANTS];      /* of its metadata */
	bool needs;                          /* prepare said yes, and no release came */
	bool runs;                           /* QEMU has started, with its status file */
	bool restoring;                      /* until then libvirt may list it as shut off */
	bool unplugged[DOMAIN_WANTS];        /* from the running guest */
	bool suspending;                     /* all of them, with a record of that in its XML */
	bool lost;                           /* its leases were lost, until somebody restores them */
	long calls;                          /* of the hook and of commands so far */
	int pid;                             /* of its QEMU */
};

struct world_state {
	struct tree tree;
	struct config config;
	struct domain domains[DOMAINS];
	bool alone; /* libvirtd was killed during a call of the hook, which goes on alone */
	bool over;  /* nobody begins anything more */
};

extern struct world_state world_now;

void world_start(unsigned seed);
void world_end(void);

bool is_vf(const char *id);

/* The domain's XML, without what was unplugged, with all (`whole`), or with one vGPU alone (`only` >= 0). */
enum { XML_MAX = 4096 };
void world_xml(const struct domain *domain, bool whole, int only, char out[XML_MAX]);

/* Calls of the hook (hook.c) */

enum operation { PREPARE, MIGRATE, RESTORE, RELEASE, RECONNECT };

struct call {
	enum operation op;
	struct domain *domain;
	const char *as;     /* the operation's name in the log; NULL: its own */
	const char *reason; /* of a release */
	char xml[XML_MAX];  /* on stdin */
	int only;
	void (*then)(struct call *call);
	struct process *process;
	int result; /* -EINTR: it was killed */
	struct err err;
	char ids[DOMAIN_WANTS][UUID_SIZE]; /* of an arrival: what the XML on stdout names */
	long number;                       /* of the domain's calls; the last one is what libvirt is at */
	bool orphaned;                     /* libvirtd was killed, and nobody waits for it */
	bool no_room;                      /* at some instant since it began */
	int64_t void_ms[DOMAIN_WANTS];     /* since_ms of a lease that was void when it began; -1 */
};

/*
 * Starts the hook, or a command that prepares (`as`), of all vGPUs or of one. hook_wait() has the result. A command
 * that has prepared goes on with `then`, and counts as its vGPUs' user for that long.
 */
struct call *hook_start(struct domain *domain, enum operation op, const char *reason);
struct call *hook_command(struct domain *domain, int only, const char *as, void (*then)(struct call *call));
int hook_wait(struct call *call);
bool hook_is_last(const struct call *call);
bool hook_is_any_running(void);
/* The calls that have not ended, and some that have; NULL: no more. */
struct call *hook_running(int i);

/* libvirt, for one domain, until the world is over (guests.c). */
void guest_life(void *domain);
void guest_run(struct domain *domain);                  /* QEMU has started, with its status file */
void guest_plug(struct domain *domain, int w, bool in); /* into the running guest, or out of it */
void guest_stop(struct domain *domain, const char *reason);

/* Commands, on a running domain or to start one (commands.c). */
void command_any(struct domain *domain);
void command_resume(struct domain *domain);

/* The handler, gc, and other parties (others.c). */
void handler_service(void *unused);
void gc_now_and_then(void *unused);
void nova(void *unused);
void sriov_manage(void *unused);
void gc_pass(void *unused);
void pass_of_handler(void *unused);

/* The leases as the files have them, kept at each change of a file. */
extern struct leases ledger;
const struct lease *ledger_find(const char *id);
bool ledger_is(int dir, const char *name);
void ledger_written(int dir, const char *name);
void ledger_dropped(int dir, const char *name);
void ledger_forget(const char *id);

/* The rules (rules.c). */
void rules_made(const struct device *device);
void rules_removing(const struct device *device);
void rules_prepared(struct call *call, int r);
void rules_reserved(const struct call *call);
void rules_called(struct call *call);
void rules_room(void); /* something has changed */
void rules_restored(struct domain *domain);
void rules_always(void);
void rules_finish(void);
