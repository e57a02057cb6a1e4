/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The world of the random test: domains that libvirt starts, stops, moves and loses; other parties who make, remove
 * and open vGPUs; and the rules that hold for all of them.
 */
#pragma once

#include "attach.h"
#include "fake/kernel.h"

enum { DOMAINS = 20, DOMAIN_WANTS = 2, COUNTERS = 32 };

struct domain {
	char name[16], uuid[UUID_SIZE];
	int nwants;
	char first[DOMAIN_WANTS][UUID_SIZE]; /* as defined */
	char want[DOMAIN_WANTS][UUID_SIZE];  /* as it arrived */
	const char *type[DOMAIN_WANTS];      /* of its metadata */
	bool runs;                           /* prepare said yes, and no release came */
	int pid;                             /* of its QEMU */
};

struct world {
	struct tree tree;
	struct config config;
	struct domain domains[DOMAINS];
};

extern struct world world;

void world_start(unsigned int seed);
void world_end(void);

/* A number from 0 to n - 1. */
int pick(int n);

/* One operation (operations.c); `text` says which, and how it went. */
void operate(char *text, size_t size);
void operations_print(void);

/* Everybody stops, and what is left is collected. */
void operate_finish(void);

/* The rules (rules.c). Each says what is broken with fake_broken(). */
void rules_prepare(const struct domain *domain, int r, const struct err *err);
void rules_reserve(const struct domain *domain, int r, const struct err *err);
void rules_always(void);
void rules_finish(void);
const char *rules_may_remove(const struct fake_device *device);
int rules_cap(int card, int type);
