/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A kernel for tests in one process: a sysfs of plain files, of which only the writes to it are made up.
 *
 * The program's own code reads the tree as it reads sysfs. What it writes there comes here (the linker's --wrap), and
 * has the effect that a driver's answer has: the device's directory appears, the counts sink, a full card refuses.
 * Time, sleep, and who "this process" is are made up as well: a wait costs nothing, and every operation is a process of its
 * own, which can be killed at each of its system calls (in a forked child; what the fake knows is in shared memory).
 *
 * It watches what must never be done to a device, see fake_broken().
 */
#pragma once

#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/ident.h"
#include "lib/tree.h"

enum { FAKE_CARDS = 4, FAKE_TYPES = 2, FAKE_DEVICES = 64, FAKE_LATE = 8, FAKE_LASTING = 8, FAKE_GRABBER = 2999 };

struct fake_type {
	const char *id;
	int mib;  /* 0: the driver does not say */
	int cost; /* in the card's units */
};

struct fake_card {
	const char *address, *directory; /* the directory is the one below sys/devices that holds it */
	int units;                       /* what the card has to share out */
	int nvfs;                        /* 0: the card is the parent itself */
	int numa;
	bool nvidia;                        /* one framebuffer size at a time */
	struct fake_type types[FAKE_TYPES]; /* id NULL: none */
};

extern const struct fake_card fake_cards[FAKE_CARDS];

struct fake_device {
	char uuid[UUID_SIZE]; /* "": a free place */
	char parent[PARENT_SIZE];
	int card, type;
	int group;  /* of /dev/vfio */
	int opener; /* the process that has it open; 0 none */
	bool ours;  /* made by the program */
	int64_t made_ms;
	int64_t since_ms; /* made, or left by a domain */
};

/* A create that its writer no longer waits for, done later. */
struct fake_late {
	char parent[PARENT_SIZE], type[TYPE_SIZE], uuid[UUID_SIZE];
	int lock; /* the pGPU's lock, which the child goes on holding */
};

struct fake {
	struct fake_device devices[FAKE_DEVICES];
	struct fake_late late[FAKE_LATE];
	int nlate;
	int64_t now_ms;
	int pid;                   /* "this process" */
	int pids;                  /* how many there have been */
	int lasting[FAKE_LASTING]; /* those that live on beside it; 0 none */
	int ngroups;
	/* What goes wrong in this operation; 0 nothing. */
	int create_errno, remove_errno;
	bool hang, half, grab; /* grab: somebody opens a device the moment it appears */
	bool met;              /* what was to go wrong did */
	int meanwhile_at; /* fake_meanwhile() is called before the process's Nth call, while the store is not locked */
	int settle_at;    /* what is late happens before the process's Nth call into the kernel */
	bool inside, deferring; /* the kernel is at work; on a write that comes late */
	int kill_at;            /* the process dies before its Nth call into the kernel */
	long calls;             /* into the kernel by this process */
	long creates, removes;  /* of the program */
	long uuids;             /* that it made up */
	char broken[1024];      /* the first thing that must not be */
};

extern struct fake *fake;

/* Asked before the program removes a device: NULL where that is right, else what is wrong with it. */
extern const char *(*fake_may_remove)(const struct fake_device *device);

/* The most vGPUs of this type that the configuration lets a card carry. */
extern int (*fake_cap)(int card, int type);

void fake_start(struct tree *tree);

/* From now on "this process" is another one. One that never ends is broken, and goes on at fake_escape. */
void fake_process(void);
extern jmp_buf fake_escape;

/* This process lives on when another one is "this process", until it ends. False: there are too many such. */
bool fake_lasts(void);
void fake_end(int pid);

/* What others do in the middle of this process: as processes of their own. */
extern void (*fake_meanwhile)(void);

/* Lets what is late happen. */
void fake_settle(void);

/* What somebody else than the program does; negative errno as the kernel gives it. */
int fake_create(const char *parent, const char *type, const char *uuid);
int fake_remove(const char *uuid);
void fake_open(struct fake_device *device, int pid);
void fake_close(struct fake_device *device);

struct fake_device *fake_device(const char *uuid);
int fake_count(int card, int type); /* type -1: of any */
int fake_free(int card, int type);  /* how many more of it the card can carry */

void fake_broken(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
