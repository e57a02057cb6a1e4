/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The files of the state (ARCHITECTURE.md lists them), the leases among them, and the locks that serialize access to it
 * on this host. Each lease is one small file, /run/vgpu-lease/leases/ID, which appears whole or not at all.
 *
 * The store's lock is held from a look at the host until the decision is written, but never during a write to sysfs.
 * While it is held, the work locks of vGPUs are taken, without waiting; each is a byte of the file `work` (fcntl(2)).
 * A pGPU's lock is held while one of its vGPUs is created. No process holds the locks of two pGPUs, or waits for one
 * while it holds the store's. The kernel drops the locks however their holder dies.
 *
 * A process that takes a lock has the lock of the file that is at the path then. If that file is removed later, others
 * no longer see the lock, so no program removes a lock file.
 *
 * A writer rejects a directory that does not belong to root, or to which others may write.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/ident.h"
#include "model/lease.h"
#include "sys/sys.h"

#define STORE_RUN "run/vgpu-lease"
#define STORE_CALLED STORE_RUN "/called"

/* The lock files below run/vgpu-lease, other than pgpu/ADDRESS.lock. */
#define STORE_LOCK "lock"
#define STORE_WORK "work"
#define STORE_HANDLER "handler.lock"

struct store {
	const struct host *host;
	int run;        /* run/vgpu-lease; -1: does not exist, and must not be created */
	int leases;     /* run/vgpu-lease/leases; -1 as for `run` */
	int seen;       /* run/vgpu-lease/seen; -1 as for `run` */
	int affinity;   /* var/lib/vgpu-lease/affinity; -1: not available, so nothing is recorded */
	int lock;       /* -1: not held */
	uint64_t start; /* when this process started; 0 before the first store_lock() */
};

/* A store that is not open: it has no leases. store_close() accepts it. */
#define STORE_NONE ((struct store){ .run = -1, .leases = -1, .seen = -1, .affinity = -1, .lock = -1 })

/*
 * Opens the store. With `make`, creates missing directories, and rejects untrusted ones (-EPERM, store_trusts()).
 * Without `make`, creates none, and a missing store is empty. The error names the directory and what is wrong with it.
 */
int store_open(struct store *store, const struct host *host, bool make, struct err *err);
void store_close(struct store *store);

/* Opens var/lib/vgpu-lease/NAME, whose records outlive a reboot; creates it if missing. Returns its descriptor. */
int store_open_lib(const struct host *host, const char *name);

/* Sets the error with which store_open() rejects this directory of the state. */
int store_dir_error(struct err *err, int code, const char *path);

/* What can be written below a path of the state, i.e. in the nearest existing directory. */
struct store_space {
	char near[64]; /* the nearest existing directory */
	int code;      /* 0, or why nothing can be written there: -EROFS, ... */
	unsigned long long bytes, files;
};

/* Does store_open() with `make` accept this directory of the state? */
bool store_trusts(const struct host *host, const struct stat *directory);

/*
 * store_space() and the functions store_would_...() write nothing. store_would_open() gives the error that store_open()
 * with `make` or store_lock() would give, other than a time-out.
 */
void store_space(int root, const char *path, struct store_space *space);
int store_would_open(const struct host *host, struct err *err);

/* Gives the error that store_lock_pgpu() would give, other than a time-out. Assumes that a lease can be written. */
int store_would_lock_pgpu(const struct host *host, const char *pgpu, struct err *err);

#define autostore __attribute__((cleanup(store_close))) /* for a store passed to store_open() */

/*
 * Records a call of the hook on the host below `root` (NULL: the real host), usually with one system call. Does nothing
 * if there is no store yet or permission is denied.
 */
void store_note_call(const char *root);

/*
 * Takes the store's lock, waiting at most `wait_ms`. -ETIMEDOUT: held; the error names the process that took the lock,
 * or says that a child of it, blocked in the kernel, holds it. A lock file that was removed meanwhile is made again.
 */
int store_lock(struct store *store, int wait_ms, struct err *err);
void store_unlock(struct store *store);

/*
 * Takes a pGPU's lock and returns its descriptor. Closing all copies, or store_unlock_pgpu() on one of them, ends the
 * lock. -ETIMEDOUT names the holder.
 */
int store_lock_pgpu(const struct store *store, const char *pgpu, int wait_ms, struct err *err);
void store_unlock_pgpu(int lock);

/* The start time of this process (sys_process_start()). */
uint64_t store_own_start(const struct store *store);

/* Is this lock file locked? Creates and writes nothing. */
bool store_locked(const struct store *store, const char *name);

/* Sets `who` to the process that took this held lock, such as "process 4711". */
void store_name_holder(const struct store *store, const char *name, char *who, size_t size);

/*
 * 0: the lock of `pgpu` (NULL: of the store) is not held; -ETIMEDOUT: it is held, and the error names the holder and
 * says how long the caller has waited (0: not at all).
 */
int store_lock_holder(const struct store *store, const char *pgpu, int waited_ms, struct err *err);

/*
 * -ETIMEDOUT: the lock of `pgpu` has been held by one process for more than `longest_ms`, so its driver hangs; the
 * error names the process. Otherwise 0.
 */
int store_lock_hung(const struct store *store, const char *pgpu, int64_t longest_ms, struct err *err);

/*
 * Takes the work lock of a vGPU and returns its descriptor. A process that creates, takes over or removes the vGPU
 * acquires the lock before the lease shows it, and holds it until the lease records the outcome; a child that writes to
 * the driver keeps a copy. Needs the store's lock, but no space in /run. -EAGAIN: another process holds the lock.
 * Closing all copies of the descriptor, or store_unlock_vgpu() on one of them, ends the lock.
 */
int store_lock_vgpu(const struct store *store, const char *id, struct err *err);
void store_unlock_vgpu(const char *id, int lock);

/* Is a process creating, taking over or removing this vGPU? Creates and writes nothing. */
bool store_locked_vgpu(const struct store *store, const char *id);

/* -EAGAIN, with the error of store_lock_vgpu(), if the work lock of this vGPU is held; else 0. */
int store_check_vgpu(const struct store *store, const char *id, struct err *err);

/*
 * Takes the device handler's lock and returns its descriptor. `held` (-1: none) is the lock that the caller already
 * holds: it stays, unless the lock file was removed or replaced, so that other processes no longer see that lock.
 * Closing all copies of the descriptor, including those in forked children, ends the lock. -ETIMEDOUT: another handler
 * runs; the error names it.
 */
int store_lock_handler(const struct store *store, int held, int wait_ms, struct err *err);

/*
 * Reads all leases of this boot. Skips and counts garbage. If the caller holds the store's lock, also sets garbage
 * aside, and removes leases of another boot and what killed writers left. Negative: a lease cannot be read;
 * -EPROTONOSUPPORT: a later version wrote it.
 */
int lease_list(const struct store *store, struct leases *out, struct err *err);

/* lease_list() under the store's lock, for which it waits at most `wait_ms`. */
int lease_list_locked(struct store *store, int wait_ms, struct leases *out, struct err *err);

/* True if this host has a lease file, even an invalid one. Opens no lease file and takes no lock. */
bool lease_any(const struct host *host);

/* Reads one lease, as lease_list(). 1: found; 0: no valid lease of this boot. lease_get_locked() takes the lock. */
int lease_get(const struct store *store, const char *id, struct lease *out, struct err *err);
int lease_get_locked(struct store *store, int wait_ms, const char *id, struct lease *out, struct err *err);

/* Writes `lease`, with the present time and this process as its writer, over an older one. Needs the store's lock. */
int lease_put(const struct store *store, struct lease *lease, struct err *err);

/* Gives the error that lease_put() would give with `space`, and deducts the lease from `space`. Writes nothing. */
int lease_would_put(const struct store *store, const char *id, struct store_space *space, struct err *err);

/* Is a `releasing` lease left to the hook that marked it, which waits up to release_wait for the vGPU? */
bool lease_is_hooks(const struct lease *lease, int release_wait_s);

/* Removes the lease, and records its end (seen_used()). Succeeds without a lease. Needs the store's lock. */
int lease_drop(const struct store *store, const char *id, struct err *err);
