/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The only door to the outside: the host's files, locks, the clock, other processes. Beside it stand the log
 * (sys/log.h) and the children that wait for a driver (sys/timed_child.h).
 *
 * The host is the real one, or the directory given by --root, the prefix of /sys, /proc, /dev, /run, /etc and /var/lib.
 * Every path of the program starts at host.root, and is written without a leading slash. The clocks and processes are
 * the real ones under --root, too.
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
 * First thing in every program: a closed standard descriptor would be given to the next file that is opened. Reads and
 * writes of these fail, as they should. Ends the program if that cannot be done. The end without memory is logged.
 */
void sys_begin(void);

/* The host */

struct host {
	int root;    /* descriptor of the root directory */
	int libvirt; /* the same, as libvirt's daemon has it: another one in a container; see host/libvirt_daemon.h */
	const char *name; /* "" for the real host, else the argument of --root, for messages */
};

/*
 * Opens the host; `root` NULL is the real one. host_close() is safe on a host that was never opened with root = -1.
 */
int host_open(struct host *host, const char *root, struct err *err);
void host_close(struct host *host);

/* The host as libvirt's daemon has it. Borrowed: not closed. */
static inline struct host host_of_libvirt(const struct host *host)
{
	return (struct host){ .root = host->libvirt, .libvirt = host->libvirt, .name = host->name };
}

/* Opens a directory of the host to list it; if it does not exist, *out is NULL, and it is no error. */
int host_list(DIR **out, const struct host *host, const char *path, struct err *err);

/* Directories */

/*
 * Opens a directory for reading. Symbolic links are followed, also the last one: sysfs is made of them.
 */
int sys_dir(int dir, const char *path);

/*
 * The same, to be listed; NULL and errno. ENOENT also if `dir` is negative: what is in a missing directory is missing.
 */
DIR *sys_list(int dir, const char *path);
/* The next entry but . and .., in no order; NULL at the end (errno 0), and if `d` is NULL. */
const struct dirent *sys_next(DIR *d);
/* The descriptor of what it has opened, which stays its own. */
int sys_list_fd(DIR *d);

/*
 * Opens a directory of our own, made if it is missing; -EPERM if it is not ours or others may write to it. All may read
 * it (0755).
 */
int sys_own_dir(int dir, const char *path);

/* Is there an entry at this path? */
bool sys_exists(int dir, const char *path);

/* The last component of what the symbolic link points to, in buf[size]. */
int sys_link(int dir, const char *path, char *buf, size_t size);

/* Files */

/*
 * Reads a small file (a sysfs attribute, a record) into buf[size], ended with NUL, trailing white space cut.
 * Returns its length; -EFBIG where it does not fit, -EINVAL where it holds a NUL byte, or the errno of open or read.
 */
ssize_t sys_read(int dir, const char *path, char *buf, size_t size);

/*
 * Reads all of a stream, at most `max` bytes, into memory that the caller frees; a NUL follows. -EFBIG where there is
 * more.
 */
int sys_slurp(int fd, size_t max, char **out, size_t *len);

/* Opens the file, whatever the link at `path` leads to, and reads a byte: 0, or a negative errno. It may hang. */
int sys_probe(int dir, const char *path);

/*
 * Writes `len` bytes to an existing file in one write(2), as sysfs requires; never creates, never truncates.
 * The errno is that of the write: a kernel driver's own word.
 */
int sys_poke(int dir, const char *path, const char *data, size_t len);

/* In a new process: closes all descriptors but these, and the standard ones. Negative ones are none. */
void sys_close_but(const int *keep, size_t n);

/* Writes all of `data` to an open file or pipe, in as many writes as it takes. */
int sys_write_all(int fd, const char *data, size_t len);

/*
 * Makes the file `name` (mode 0644, whatever the umask) appear in `dir` with all of `data` or not at all, whenever the
 * process dies; with `replace` it takes the place of one that is there, else -EEXIST. The leftover of a writer that was
 * killed is ".NAME.new" and is overwritten by the next. Callers hold the lock of the directory.
 */
int sys_publish(int dir, const char *name, const char *data, size_t len, bool replace);

/*
 * The same for a small text that is there already, where there is no space for another file: in its place, in one write
 * to one page, which a kill does not break up; what was longer is filled up with empty lines, which sys_read() cuts.
 * Who reads it without the lock meanwhile can see a mixture. -ENOSPC: it is larger than SYS_OVERWRITE_MAX.
 */
enum { SYS_OVERWRITE_MAX = 4096 };
int sys_overwrite(int dir, const char *name, const char *data, size_t len);

/*
 * Locks: flock(2) of a file, dropped by the kernel when the last copy of the descriptor is closed, however its holder
 * dies. Whoever takes one writes its pid and start time into the file, for the message to those who wait too long.
 */

/*
 * Takes the lock of this file, which is made if it is missing, waiting at most `wait_ms`; `start` is that of this
 * process. The descriptor holds it. -ETIMEDOUT: somebody has it.
 */
int sys_lock(int dir, const char *name, uint64_t start, int wait_ms);

/* Lets go of it, also for copies of the descriptor in children that hang in the kernel. It stays open. */
void sys_unlock(int lock);

/* Is it held by somebody? Makes and writes nothing. `dir` may be -1: no. */
bool sys_locked(int dir, const char *name);

/* Who took it last, for people: "process 4711". */
void sys_lock_holder(int dir, const char *name, char *who, size_t size);

/*
 * The same for one of many things that a file has a lock for: a byte of it (fcntl(2), of the open file), told by `key`.
 * Two with one byte only wait for each other. -EBUSY: it is held. It needs no space and no right to write.
 */
int sys_lock_key(int dir, const char *name, const char *key);
void sys_unlock_key(int lock, const char *key);
bool sys_locked_key(int dir, const char *name, const char *key);

/* Time */

/*
 * Milliseconds of CLOCK_MONOTONIC, the time that the host has run: all that has a time here is somebody who needs it to
 * act, and who is suspended with the host. Changes of the wall clock are nothing to it.
 */
int64_t sys_now_ms(void);

/* How long ago that was, a time of the wall clock; 0: what lies ahead. */
int64_t sys_age_ms(const struct timespec *wall);

/* Milliseconds until then, by the same clock; never negative. */
int sys_left_ms(int64_t deadline_ms);

/* Tells this boot from all others; no more is known of it. */
void sys_boot_id(char out[UUID_SIZE]);

/* Sleeps for so many milliseconds. */
void sys_sleep_ms(int ms);

/* Processes */

/*
 * When the process started, in clock ticks since boot (field 22 of /proc/PID/stat); 0 where there is no such process.
 */
uint64_t sys_process_start(pid_t pid);

/*
 * Is the process that had this pid and start time still there? A process in the middle of a kernel write, killed or
 * not, is.
 */
bool sys_process_lives(pid_t pid, uint64_t start);

/*
 * Has the process with this pid begun to exit? Its descriptors cannot be listed from then on, while the kernel closes
 * them, and a driver that hangs in a close keeps it so.
 */
bool sys_process_exits(pid_t pid);
