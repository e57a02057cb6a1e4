/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The kernel and its drivers: cards, and the devices on them, as a sysfs of plain files. The program reads them as it
 * reads sysfs; what it writes comes to driver_write(), and has the effect that a driver's answer has: after a while,
 * which can be long or never end, the device's directory appears in two halves, the counts sink, a full card refuses.
 * A call into a driver goes on when whoever made it is killed.
 *
 * What must never be done to a device is found here, at the instant when it happens.
 */
#pragma once

#include "lib/tree.h"
#include "model/vgpu.h"

enum { CARDS = 6, CARD_TYPES = 2, DEVICES = 64, VFIO_MAJOR = 511, STRANGER = 2000, QEMU_FIRST = 50000 };

struct card {
	enum framework framework;
	const char *address, *directory; /* the directory is the one below sys/devices that holds it */
	int units;                       /* what the card has to share out */
	int nvfs;                        /* 0: the card is the parent itself */
	int numa;
	bool nvidia;   /* one framebuffer size at a time; the driver cleans up behind a guest */
	bool careless; /* the driver refuses nothing when it is full: only who asks before does not exceed it */
	struct card_type {
		const char *id; /* NULL: none */
		int mib;        /* 0: the driver does not say */
		int cost;       /* in the card's units */
	} types[CARD_TYPES];
};

extern const struct card cards[CARDS];

/* A call of this card has failed, taken long or hung in this history, so that nothing is sure of it. */
extern bool troubled[CARDS];
extern bool disabled[CARDS]; /* the card's VFs, for a while */

struct device {
	char uuid[UUID_SIZE]; /* "": a free place */
	char parent[PARENT_SIZE];
	int card, type;
	int group;                   /* of /dev/vfio */
	bool removed;                /* a write takes the VF's type away, and lets no other in */
	int opener;                  /* the process that has it open; 0 none */
	bool ours;                   /* made by the program */
	bool doubtful;               /* made by somebody else, while the program was about to */
	const struct process *maker; /* the process that waited for it to be made */
	int64_t made_ms, opened_ms;
	int64_t since_ms; /* made, or left by a guest */
};

extern struct device devices[DEVICES];
extern unsigned device_events; /* grows when a device is closed, and when hung calls return */

void driver_start(struct tree *host);

/* From now on no call hangs, and those that do return. */
void driver_settle(void);

/* What a driver's answer takes; of the card with this parent or address. Whoever looks asks often. */
void driver_ask(const char *who, bool looks);
int driver_write(const char *path, const char *data);

/* The same of others than the program, at once: negative errno as the kernel gives it. */
int driver_make(const char *parent, const char *type, const char *uuid);
int driver_unmake(const char *uuid);

/* The VFs of a card go, unless one is open or written to; they come back without types. */
bool driver_disable(int card);
void driver_enable(int card);

void device_open(struct device *device, int pid);
void device_close(struct device *device);
struct device *device_find(const char *uuid);

/* The card with this address or parent; -1: none. */
int card_find(const char *who);

/* A parent of the card: itself, or one of its VFs, unless they are disabled. */
void card_parent(char out[PARENT_SIZE], int card, int n);
int card_parents(int card);
int vf_group(const char *vf);             /* of /dev/vfio */
int card_count(int card, int type);       /* type -1: of any */
int card_free(int card, int type);        /* how many more of it the card can carry */
bool driver_is_taken(const char *parent); /* has it a device? */

/* The files (driver_files.c). */
void files_parents(int card, bool there);         /* the VFs of the card, or the card itself */
void files_begin(const struct device *device);    /* its directory appears */
void files_complete(const struct device *device); /* with all that is in it */
void files_drop(const struct device *device);
void files_counts(int card); /* available_instances */
