/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The world of the random test: domains that libvirt starts, stops, moves and loses; other parties who make, remove
 * and open vGPUs; and the rules that hold for all of them.
 */
#pragma once

#include "ops/lifecycle.h"
#include "model/fake/kernel.h"

enum { DOMAINS = 20, DOMAIN_WANTS = 2, COUNTERS = 32 };

struct domain {
	char name[16], uuid[UUID_SIZE];
	int nvgpus;
	char first[DOMAIN_WANTS][UUID_SIZE]; /* as defined */
	char req[DOMAIN_WANTS][UUID_SIZE];   /* as it arrived */
	const char *type[DOMAIN_WANTS];      /* of its metadata */
	bool runs;                           /* prepare said yes, and no release came */
	bool starting;                       /* so it does, but libvirt has not written its file yet, nor QEMU opened */
	int64_t began_ms;                    /* starting: since when */
	bool unplugged[DOMAIN_WANTS];        /* from the running guest */
	int command;                         /* the process that resumes it, before libvirt starts it; 0 none */
	unsigned int detaching;              /* those that a command has unplugged, and is to release */
	bool suspending;                     /* all of them, to save it: with the record of that in its XML */
	int64_t asked_ms;                    /* when that command looked at the domain */
	int pid;                             /* of its QEMU */
};

struct random_world {
	struct tree tree;
	struct config config;
	struct domain domains[DOMAINS];
};

extern struct random_world world;

void world_start(unsigned int seed);
void world_end(void);

/* The XML of a domain, without what was unplugged; how long it is. */
enum { XML_MAX = 4096 };
size_t world_xml(const struct domain *domain, char out[XML_MAX]);

/* A number from 0 to n - 1. */
int pick(int n);

/* One operation (operations.c); `text` says which, and how it went. */
void operate(char *text, size_t size);
void operations_print(void);

/* What this operation is and how it went, for the history. */
void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Parts of operations. */
int call_prepare(const struct domain *domain, struct err *err);
int call_release(const struct domain *domain);
bool killed_in(int (*flow)(const struct domain *domain, struct err *err), const struct domain *domain, int *r);
void stop(struct domain *domain);
void run_domain(struct domain *domain); /* QEMU has started, with its status file */
void set_status(const struct domain *domain, bool runs);
void lose_leases(const struct domain *domain);
void op_prepare(struct domain *domain);
void op_release(struct domain *domain);
void op_arrive(struct domain *domain);

/* Has the device a lease that is more than a reservation? */
bool is_leased(const char *uuid);

/* gc (collect.c). */
void op_collect(struct domain *d);

/* The device handler, and what only it can see (handler.c). */
void op_handler(struct domain *domain);
void op_plug(struct domain *any);
void op_detach(struct domain *any);
void op_suspend(struct domain *any);
void op_resume(struct domain *domain);
void start_slowly(struct domain *domain);
void finish_starts(void);
void handler_end(void);

/* Everybody stops, and what is left is collected. */
void operate_finish(void);

/* The rules (rules.c). Each says what is broken with fake_broken(). */
void rules_prepare(const struct domain *domain, int r, const struct err *err);
void rules_reserve(const struct domain *domain, int r, const struct err *err);
void rules_always(void);
void rules_finish(void);
const char *rules_may_remove(const struct fake_device *device);
int rules_cap(int card, int type);
