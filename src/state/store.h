/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Where the state is kept, and the locks that order all users of it on this host.
 *
 *   run/vgpu-lease/leases/ID        who holds what (lease)
 *   run/vgpu-lease/seen/ID          since when a foreign device has been seen free (history)
 *   run/vgpu-lease/looked           when all cards were last read, and what was seen (history)
 *   run/vgpu-lease/failed/PGPU      that a pGPU could not create a type a while ago (history)
 *   run/vgpu-lease/silent/PGPU      which process waits for an answer of its driver (history)
 *   run/vgpu-lease/garbage/         invalid records, set aside
 *   run/vgpu-lease/lock             the store's lock: held from a look at the host until the decision is written, never
 *                                   over a write to sysfs; each removal of a device locks a byte of its own in the same
 *                                   file (fcntl(2))
 *   run/vgpu-lease/pgpu/ADDRESS.lock   one per pGPU, held over the writes to it
 *   run/vgpu-lease/counts-3         refusals and durations of the hook (counts)
 *   run/vgpu-lease/called           touched by each call of the hook
 *   run/vgpu-lease/handler.lock     held by the device handler while it runs
 *   var/lib/vgpu-lease/affinity/ID  the last type and parent of a UUID (history)
 *   var/lib/vgpu-lease/cards/ADDRESS   which device an address of [vf_NAME] is (history, card_record)
 *   var/lib/vgpu-lease/types/MODEL  what a card of this model calls its types (history, typelist)
 *
 * The store under /run lives as long as the devices that it describes: until the host is booted again. The locks are
 * flock(2), so the kernel drops them however their holder dies. The directories are owned by root with mode 0755; any
 * others are rejected.
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
	int run;        /* run/vgpu-lease; -1: does not exist, and may not be created */
	int leases;     /* likewise */
	int seen;       /* likewise */
	int affinity;   /* var/lib/vgpu-lease/affinity; -1: not available; records are only a convenience */
	int lock;       /* -1: not held */
	uint64_t start; /* of this process, set once it has taken a lock; else 0 */
	bool resident;  /* set by a process that goes on after its work: no lease names it as its writer */
};

/*
 * Opens the store. With `make`, creates missing directories; without, a missing store counts as empty, and nothing is
 * written. The error names the directory and what is wrong with it.
 */
int store_open(struct store *store, const struct host *host, bool make, struct err *err);
void store_close(struct store *store);

/* The error of store_open() for this directory of the state. */
int store_dir_error(struct err *err, int code, const char *shown);

/* The error of store_lock() and store_lock_pgpu() for this file, except a time-out. */
int store_lock_error(struct err *err, int code, const char *name);

/* What can be written below a path of the state, i.e. in the nearest existing directory. */
struct store_space {
	char near[64]; /* that directory */
	int code;      /* 0, or why nothing can be written there: -EROFS, ... */
	unsigned long long bytes, files;
	unsigned long long unreserved; /* of `bytes`: not reserved for root */
};

/* Does store_open() accept this directory of the state? */
bool store_trusts(const struct host *host, const struct stat *directory);

/*
 * These check, but create and write nothing (store_look.c). store_would_open() gives the error that store_open() with
 * `make`, or store_lock() apart from a time-out, would give.
 */
void store_space(const struct host *host, const char *path, struct store_space *space);
int store_would_open(const struct host *host, struct err *err);

/* The same for store_lock_pgpu(), on condition that a lease can be written. */
int store_would_lock_pgpu(const struct host *host, const char *pgpu, struct err *err);

#define autostore __attribute__((cleanup(store_close))) /* for a store that store_open() has seen */

/*
 * Records a call of the hook, below `root` (NULL: the real host), with one system call. Does nothing if there is no
 * store yet or permission is denied.
 */
void store_note_call(const char *root);

/*
 * Takes the store's lock, waiting at most `wait_ms`. -ETIMEDOUT names the process that took the lock, and says if that
 * process is gone: then its child holds the lock, blocked in the kernel.
 */
int store_lock(struct store *store, int wait_ms, struct err *err);
void store_unlock(struct store *store);

/* Takes a pGPU's lock and returns the descriptor, which holds it until it is closed. -ETIMEDOUT names the holder. */
int store_lock_pgpu(const struct store *store, const char *pgpu, int wait_ms, struct err *err);

/* When this process started, as sys_process_start() says; `store->start` if that is set. */
uint64_t store_own_start(const struct store *store);

/* Is a pGPU's lock, or the store's (NULL), held? Creates and writes nothing. */
bool store_locked(const struct store *store, const char *pgpu);

/* 0: not held; -ETIMEDOUT: held, with the text of a caller that has waited for it. */
int store_lock_holder(const struct store *store, const char *pgpu, struct err *err);

/*
 * Takes the lock of a device's removal. Take it under the pGPU's lock and before the leases are read, so that whoever
 * leases the device later waits for it. It needs no space in /run. -EBUSY: it is held. The child that writes to
 * `remove` keeps only this lock, so if the write hangs, the pGPU serves others. The lock ends when the last copy of the
 * descriptor is closed, or with store_end_removal() for all copies.
 */
int store_lock_removal(const struct store *store, const char *id, struct err *err);
void store_end_removal(const char *id, int lock);

/* Is the kernel removing this device? Creates and writes nothing. */
bool store_removes(const struct store *store, const char *id);

/*
 * Takes the device handler's lock and returns the descriptor; the lock ends when all its copies, including those of
 * forks, are closed. -ETIMEDOUT names the holder: another handler runs.
 */
int store_lock_handler(const struct store *store, int wait_ms, struct err *err);

/* Is this lock still the one that others see? False if somebody removed the file. */
bool store_is_handler(const struct store *store, int lock);

bool store_handler_runs(const struct store *store);

/*
 * Moves an invalid record to garbage/, so that it is neither trusted nor met again. False: it could not be moved, and
 * will be skipped each time.
 */
bool store_set_aside(const struct store *store, const char *directory, const char *name);
