/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Where the state is kept, and the locks that order all users of it on this host.
 *
 *   run/vgpu-lease/leases/ID        who holds what (lease)
 *   run/vgpu-lease/seen/ID          since when a foreign device has been seen free (history)
 *   run/vgpu-lease/looked           when a pass last read all cards, and what it saw (history)
 *   run/vgpu-lease/failed/PGPU      that a pGPU could not make a type a while ago (history)
 *   run/vgpu-lease/silent/PGPU      which process waits for an answer of its driver (history)
 *   run/vgpu-lease/garbage/         what could not be understood, set aside
 *   run/vgpu-lease/lock             the store's lock: held from a look at the host until what was decided is written,
 *                                   never over a write to sysfs; in the same file, the lock of each device's removal
 *                                   (fcntl(2), a byte of its own)
 *   run/vgpu-lease/pgpu/ADDRESS.lock   one per pGPU, held over the writes to it
 *   run/vgpu-lease/counts-3         refusals and durations of the hook (counts)
 *   run/vgpu-lease/called           touched by each call of the hook
 *   run/vgpu-lease/handler.lock     held by the device handler while it runs
 *   var/lib/vgpu-lease/affinity/ID  what a UUID was last (history)
 *   var/lib/vgpu-lease/cards/ADDRESS   which device an address of [vf_NAME] is (history, card_record)
 *   var/lib/vgpu-lease/types/MODEL  what a card of this model calls its types (history, typelist)
 *
 * The store under /run lives as long as the devices that it describes: until the host is booted again. The locks are
 * flock(2): the kernel drops them when their holder dies, however it dies. The directories are root's, mode
 * 0755; any others are rejected.
 *
 * Order of locks: a pGPU's lock first, then a removal's, then the store's; never two pGPUs' at once.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/ident.h"
#include "sys/sys.h"

#define STORE_CALLED "run/vgpu-lease/called"

struct store {
	const struct host *host;
	int run;        /* run/vgpu-lease; -1 where there is none and none may be made */
	int leases;     /* likewise */
	int seen;       /* likewise */
	int affinity;   /* var/lib/vgpu-lease/affinity; -1 where it cannot be had: remembering is a convenience */
	int lock;       /* -1: not held */
	uint64_t start; /* of this process, known once it has taken a lock; else 0 */
	bool resident;  /* set by a process that lives on when its work is done: no lease names it as its writer */
};

/*
 * Opens the store. With `make`, missing directories are created; without, a missing store is an empty one, and nothing
 * is written. The text names the directory and what is wrong with it.
 */
int store_open(struct store *store, const struct host *host, bool make, struct err *err);
void store_close(struct store *store);

/* The error of store_open() about this directory of the state. */
int store_dir_error(struct err *err, int code, const char *shown);

/* The same of store_lock() and store_lock_pgpu(), about this file; not of a time-out. */
int store_lock_error(struct err *err, int code, const char *name);

/* What can be written below a path of the state: in the nearest directory that exists. */
struct store_space {
	char near[64]; /* that directory */
	int code;      /* 0, or why nothing can be written there: -EROFS, ... */
	unsigned long long bytes, files;
	unsigned long long unreserved; /* of the bytes: what not only root may use */
};

/* Is a directory of the state what store_open() accepts? */
bool store_trusts(const struct host *host, const struct stat *directory);

/*
 * These look, and make and write nothing (store_look.c). store_would_open(): the error that store_open() with `make`,
 * or store_lock() but for a time-out, would give.
 */
void store_space(const struct host *host, const char *path, struct store_space *space);
int store_would_open(const struct host *host, struct err *err);

/* The same of store_lock_pgpu(), where a lease can be written. */
int store_would_lock_pgpu(const struct host *host, const char *pgpu, struct err *err);

#define autostore __attribute__((cleanup(store_close))) /* of one that store_open() has seen */

/*
 * Notes that the hook is called, below `root` (NULL: the real host), at the cost of one system call. What cannot be
 * noted is not: where there is no store yet, or no right to it.
 */
void store_note_call(const char *root);

/*
 * Takes the store's lock, waiting at most `wait_ms`; -ETIMEDOUT names the process that took it, and says where that is
 * gone: then a child that it left in the kernel holds it.
 */
int store_lock(struct store *store, int wait_ms, struct err *err);
void store_unlock(struct store *store);

/* Takes a pGPU's lock; the descriptor that is returned holds it until it is closed. -ETIMEDOUT names the holder. */
int store_lock_pgpu(const struct store *store, const char *pgpu, int wait_ms, struct err *err);

/* When this process started, as sys_process_start() tells it: asked once. */
uint64_t store_own_start(const struct store *store);

/* Is a pGPU's lock, or with NULL the store's, held by somebody? Makes and writes nothing. */
bool store_locked(const struct store *store, const char *pgpu);

/* The same; if it is, -ETIMEDOUT with the text of who has waited for it, else 0. */
int store_lock_holder(const struct store *store, const char *pgpu, struct err *err);

/*
 * Takes the lock of a device's removal, under its pGPU's and before the leases are looked at: whoever leases the device
 * afterwards waits for this lock. It needs no space in /run. -EBUSY: somebody holds it. The child that writes to
 * `remove` keeps this lock alone: should the write hang, the pGPU serves others meanwhile. The lock ends when the last
 * copy of the descriptor is closed, or with store_end_removal(), for all copies.
 */
int store_lock_removal(const struct store *store, const char *id, struct err *err);
void store_end_removal(const char *id, int lock);

/* Is the kernel at a removal of this device? Makes and writes nothing. */
bool store_removes(const struct store *store, const char *id);

/*
 * Takes the device handler's lock; the descriptor that is returned holds it until it, and each copy that a fork made of
 * it, is closed. -ETIMEDOUT names the holder: another handler runs.
 */
int store_lock_handler(const struct store *store, int wait_ms, struct err *err);

/* Is this lock, once taken, still the one that others look at? Not where somebody removed the file. */
bool store_is_handler(const struct store *store, int lock);

/* Does the device handler run? */
bool store_handler_runs(const struct store *store);

/*
 * Moves a record that cannot be understood to garbage/, so that it is neither trusted nor met again: was it moved?
 * Where it cannot be, it is passed over each time.
 */
bool store_set_aside(const struct store *store, const char *directory, const char *name);
