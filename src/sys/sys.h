/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Access to the operating system: the host's files, locks, the clock, other processes. The log (sys/log.h) and the
 * children that wait for a driver (sys/timed_child.h) stand beside it.
 *
 * The host is the real one, or the directory given by --root, the prefix of /sys, /proc, /dev, /run, /etc and /var/lib.
 * Every path of the program starts at host.root and has no leading slash. Clocks and processes are the real ones even
 * under --root.
 *
 * Nothing here follows a symbolic link in the last component unless it says so. All descriptors are close-on-exec.
 * Results are negative errnos where nothing else is said.
 */
#pragma once

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "base/err.h"
#include "base/ident.h"

/*
 * Every program calls this first. It opens standard descriptors that are closed, which the next file would get
 * otherwise; reads and writes of them fail. It ends the program if it cannot. From now on the log says so when the
 * program ends without memory.
 */
void sys_begin(void);

/* The host */

struct host {
	int root;         /* the descriptor of the root directory */
	int libvirt;      /* the root directory of libvirt's daemon, also in a container; see host/libvirt_daemon.h */
	const char *name; /* "" for the real host, else the argument of --root, for messages */
};

/* Opens the host; `root` NULL means the real one. host_close() also takes a host that was not opened (.root = -1). */
int host_open(struct host *host, const char *root, struct err *err);
void host_close(struct host *host);

/* The host as libvirt's daemon sees it. It borrows the descriptor: nobody closes it. */
static inline struct host host_of_libvirt(const struct host *host)
{
	return (struct host){ .root = host->libvirt, .libvirt = host->libvirt, .name = host->name };
}

/* Opens a directory of the host to list it. If the directory does not exist, *out is NULL and the result 0. */
int host_list(DIR **out, const struct host *host, const char *path, struct err *err);

/* Directories */

/* Opens a directory for reading. It follows symbolic links, even the last one, because sysfs is made of them. */
int sys_dir(int dir, const char *path);

/*
 * Opens a directory to list it, like sys_dir(). Returns NULL and sets errno on failure; ENOENT if `dir` is negative, as
 * everything in a missing directory is missing.
 */
DIR *sys_list(int dir, const char *path);
/* Returns the next entry other than . and .., in no order; NULL at the end (errno 0), and if `d` is NULL. */
const struct dirent *sys_next(DIR *d);
/* Returns the descriptor behind `d`, which `d` keeps. */
int sys_list_fd(DIR *d);

/*
 * Opens a directory of our own, and creates it if it is missing. Everybody may read it (0755). -EPERM: somebody else
 * owns it, or may write to it.
 */
int sys_own_dir(int dir, const char *path);

/* Is there an entry at this path? */
bool sys_exists(int dir, const char *path);

/* Copies the last component of a symbolic link's target to buf[size]. */
int sys_link(int dir, const char *path, char *buf, size_t size);

/* Files */

/*
 * Reads a small file (a sysfs attribute, a record) into buf[size], adds a NUL and cuts trailing white space. Returns:
 *   the length;
 *   -EFBIG: the file does not fit;
 *   -EINVAL: the file holds a NUL byte;
 *   the errno of open or read.
 */
ssize_t sys_read(int dir, const char *path, char *buf, size_t size);

/* Reads a whole stream into memory that the caller frees, and adds a NUL. -EFBIG: it has more than `max` bytes. */
int sys_slurp(int fd, size_t max, char **out, size_t *len);

/* Opens the file that `path` leads to, through links, and reads one byte. May hang. */
int sys_probe(int dir, const char *path);

/*
 * Writes `len` bytes to an existing file in one write(2), as sysfs requires. It never creates or truncates a file. The
 * errno is that of the write, which a kernel driver chose.
 */
int sys_poke(int dir, const char *path, const char *data, size_t len);

/* Closes all descriptors of a new process but these and the standard ones. It ignores negative ones. */
void sys_close_but(const int *keep, size_t n);

/* Writes all of `data` to an open file or pipe, in as many writes as that takes. */
int sys_write_all(int fd, const char *data, size_t len);

/*
 * Makes the file `name` (mode 0644, whatever the umask) appear in `dir` with all of `data` or not at all, whenever the
 * process dies. With `replace` it replaces a file of that name; without, such a file means -EEXIST. A writer that is
 * killed leaves ".NAME.new", which the next one overwrites. Callers hold the lock of the directory.
 */
int sys_publish(int dir, const char *name, const char *data, size_t len, bool replace);

/*
 * Overwrites a small text file in place, for when there is no space for another file. One write to one page does it,
 * which a kill cannot interrupt. Empty lines, which sys_read() cuts, replace the rest of a longer text. A reader
 * without the lock may see a mixture. -ENOSPC: the text is larger than SYS_OVERWRITE_MAX.
 */
enum { SYS_OVERWRITE_MAX = 4096 };
int sys_overwrite(int dir, const char *name, const char *data, size_t len);

/*
 * A lock is flock(2) of a file: the kernel drops it when the last copy of the descriptor is closed, however the holder
 * dies. The holder writes its pid and start time into the file, for the message to those who wait too long.
 */

/*
 * Takes the lock of this file within `wait_ms`, and creates the file if it is missing. `start` is the start time of
 * this process. Returns the descriptor that holds the lock. -ETIMEDOUT: somebody else holds it.
 */
int sys_lock(int dir, const char *name, uint64_t start, int wait_ms);

/* Drops the lock, even if a child that hangs in the kernel has a copy of the descriptor. The descriptor stays open. */
void sys_unlock(int lock);

/* Does somebody hold the lock? Creates and writes nothing. No, if `dir` is -1. */
bool sys_locked(int dir, const char *name);

/* Says who took the lock last, for people: "process 4711". */
void sys_lock_holder(int dir, const char *name, char *who, size_t size);

/*
 * Locks for many things in one file: each has a byte, which a hash of `key` chooses (fcntl(2), locks of the open
 * file). Two things with the same byte merely wait for each other. This needs no space, and no right to write. -EBUSY:
 * somebody holds it.
 */
int sys_lock_key(int dir, const char *name, const char *key);
void sys_unlock_key(int lock, const char *key);
bool sys_locked_key(int dir, const char *name, const char *key);

/* Time */

/*
 * Milliseconds of CLOCK_MONOTONIC, which stops while the host is suspended, as do all who need their time to act. A
 * change of the wall clock does not matter.
 */
int64_t sys_now_ms(void);

/* How many milliseconds ago this time of the wall clock was; 0 if it is in the future. */
int64_t sys_age_ms(const struct timespec *wall);

/* Milliseconds until this time of sys_now_ms(); never negative. */
int sys_left_ms(int64_t deadline_ms);

/* An ID that no other boot has. */
void sys_boot_id(char out[UUID_SIZE]);

void sys_sleep_ms(int ms);

/* Processes */

/* When the process started, in clock ticks since boot (field 22 of /proc/PID/stat); 0 if there is no such process. */
uint64_t sys_process_start(pid_t pid);

/* Does the process with this pid and start time still exist? One that was killed does until its kernel write ends. */
bool sys_process_lives(pid_t pid, uint64_t start);

/*
 * Has the process with this pid begun to exit? Its descriptors can no longer be listed while the kernel closes them,
 * which takes for ever if a driver hangs in a close.
 */
bool sys_process_exits(pid_t pid);
