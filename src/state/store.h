/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The state of this host in files, and its locks; ARCHITECTURE.md lists both. A lease is one small file,
 * /run/vgpu-lease/leases/ID, which appears whole or not at all.
 *
 * No process holds the locks of two pGPUs, or waits for one while it holds the store's. The kernel drops the locks
 * however their holder dies. No program removes a lock file, because others would no longer see the lock.
 *
 * A writer rejects a directory that does not belong to root, or to which others may write.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

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
	int run;      /* run/vgpu-lease; -1: does not exist, and must not be created */
	int leases;   /* run/vgpu-lease/leases, likewise */
	int seen;     /* run/vgpu-lease/seen, likewise */
	int affinity; /* var/lib/vgpu-lease/affinity; negative: nothing is recorded */
	int lock;     /* -1: not held */
};

/* A store that is not open: it has no leases. store_close() accepts it. */
#define STORE_NONE ((struct store){ .run = -1, .leases = -1, .seen = -1, .affinity = -1, .lock = -1 })

/*
 * Opens the store. With `make`, creates missing directories, and rejects untrusted ones (-EPERM).
 * Without `make`, a missing store is empty.
 */
int store_open(struct store *store, const struct host *host, bool make, struct err *err);
void store_close(struct store *store);

/* Opens or creates the directory var/lib/vgpu-lease/NAME, whose records outlive a reboot. */
int store_open_lib(const struct host *host, const char *name);

/* The error with which store_open() rejects this directory of the state. */
int store_dir_error(struct err *err, int code, const char *path);

/* What can be written below a path of the state. */
struct store_space {
	char near[64]; /* the nearest existing directory */
	int code;      /* 0, or why nothing can be written there: -EROFS, ... */
	unsigned long long bytes, files;
};

/* Does store_open() with `make` accept this directory? 0: yes; -ENOENT: it is missing; -ENOTDIR; -EPERM: untrusted. */
int store_check_dir(const struct host *host, const char *path);

void store_space(int root, const char *path, struct store_space *space);

/* The error that store_open() with `make`, or then store_lock(), would give. Writes nothing. */
int store_would_open(const struct host *host, struct err *err);

#define autostore __attribute__((cleanup(store_close))) /* for a store passed to store_open() */

/* Records a call of the hook, usually with one system call. Does nothing without a store or permission. */
void store_note_call(const char *root);

/*
 * Takes the store's lock, waiting at most `wait_ms`; creates the state's directory anew if it has been removed.
 * -ETIMEDOUT: held; the error names the holder.
 */
int store_lock(struct store *store, int wait_ms, struct err *err);
void store_unlock(struct store *store); /* does nothing if the lock is not held */

/* `autounlock struct store *locked = store;`: the lock ends with the scope. */
static inline void store_end_lock(struct store *const *store)
{
	store_unlock(*store);
}

#define autounlock __attribute__((cleanup(store_end_lock)))

/*
 * Takes a pGPU's lock and returns its descriptor. Closing all copies, or store_unlock_pgpu() on one of them, ends the
 * lock. -ETIMEDOUT names the holder.
 */
int store_lock_pgpu(const struct store *store, const char *pgpu, int wait_ms, struct err *err);
void store_unlock_pgpu(int lock);

/* Is this lock file locked? Creates and writes nothing. */
bool store_locked(const struct store *store, const char *name);

/* Sets `who` to the process that took this held lock, such as "process 4711". */
void store_name_holder(const struct store *store, const char *name, char *who, size_t size);

/*
 * The error of a wait of `waited_ms` (0: none) for the lock of `pgpu` (NULL: of the store): -ETIMEDOUT, with the
 * holder. 0: the lock is not held.
 */
int store_lock_holder(const struct store *store, const char *pgpu, int waited_ms, struct err *err);

/* Has one process held the lock of `pgpu` for more than `longest_ms`, which means that its driver hangs? */
bool store_lock_hung(const struct store *store, const char *pgpu, int64_t longest_ms);

/*
 * Takes the work lock of a vGPU and returns its descriptor. Needs the store's lock, but no space in /run. -EAGAIN:
 * another process holds the lock. The lock ends in the same ways as a pGPU's.
 */
int store_lock_vgpu(const struct store *store, const char *id, struct err *err);
void store_unlock_vgpu(const char *id, int lock);

/* Is a process creating, taking over or removing this vGPU? Creates and writes nothing. */
bool store_locked_vgpu(const struct store *store, const char *id);

/* -EAGAIN, with the error of store_lock_vgpu(), if the work lock of this vGPU is held; else 0. */
int store_check_vgpu(const struct store *store, const char *id, struct err *err);

/*
 * Takes the device handler's lock and returns its descriptor. `held` (-1: none) is the lock that the caller already
 * holds: it stays, unless its file was removed or replaced. Closing all copies of the descriptor ends the lock.
 * -ETIMEDOUT: another handler runs; the error names it.
 */
int store_lock_handler(const struct store *store, int held, int wait_ms, struct err *err);

/*
 * Reads all leases of this boot. Skips and counts garbage. Under the store's lock, also sets garbage aside, and removes
 * leases of another boot and what killed writers left. -EPROTONOSUPPORT: a later version wrote a lease; other negative
 * errno: one cannot be read.
 */
int lease_list(const struct store *store, struct leases *out, struct err *err);

/* lease_list() under the store's lock, for which it waits at most `wait_ms`. */
int lease_list_locked(struct store *store, int wait_ms, struct leases *out, struct err *err);

/* True if this host has a lease file, even an invalid one. Opens no lease file and takes no lock. */
bool lease_any(const struct host *host);

/* Reads one lease, as lease_list(). 1: found; 0: no valid lease of this boot. lease_get_locked() takes the lock. */
int lease_get(const struct store *store, const char *id, struct lease *out, struct err *err);
int lease_get_locked(struct store *store, int wait_ms, const char *id, struct lease *out, struct err *err);

/* Writes the lease, with the present time and this process as its writer. Needs the store's lock. */
int lease_put(const struct store *store, struct lease *lease, struct err *err);

/* The error that lease_put() would give for the last of `added` new leases, or (0) an existing one. Writes nothing. */
int lease_would_put(const struct store *store, const char *id, size_t added, struct err *err);

/* Is a `releasing` lease left to the hook that marked it, which waits up to release_wait for the vGPU? */
bool lease_is_hooks(const struct lease *lease, int release_wait_s);

/* Removes the lease, and records its end (seen_used()). Succeeds without a lease. Needs the store's lock. */
int lease_drop(const struct store *store, const char *id, struct err *err);
