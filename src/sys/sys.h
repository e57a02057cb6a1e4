/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The operating system: the host's files, the clock, other processes.
 *
 * The host is the real one or, with --root, a directory with its own /sys, /proc, /dev, /run, /etc and /var/lib. Paths
 * on it are relative to host.root. The clocks, processes and locks are the real ones even under --root.
 *
 * A function follows a symbolic link in the last component only if its comment says so. All descriptors are
 * close-on-exec. Failures return a negative errno, unless stated otherwise.
 */
#pragma once

#include <dirent.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "base/err.h"
#include "base/ident.h"

/*
 * Every program calls this first. Opens /dev/null as each closed standard descriptor, so that no other file gets its
 * number; its use still fails. Exits if this fails. From then on, running out of memory is logged.
 */
void sys_begin(void);

struct host {
	int root;         /* descriptor of the root directory */
	int libvirt;      /* descriptor of the root directory of libvirt's daemon, which can run in a container */
	const char *name; /* the argument of --root, for messages; "" for the real host */
};

/* Opens the host; `root` NULL: the real one. host_close() ignores a host with .root = -1. */
int host_open(struct host *host, const char *root, struct err *err);
void host_close(struct host *host);

/* The host as libvirt's daemon sees it. Borrows the descriptor of `host`; do not close the result. */
static inline struct host host_of_libvirt(const struct host *host)
{
	return (struct host){ .root = host->libvirt, .libvirt = host->libvirt, .name = host->name };
}

/* sys_list() for a directory of the host. If the directory is missing, returns 0 with *out NULL. */
int host_list(DIR **out, const struct host *host, const char *path, struct err *err);

/* Opens a directory. Follows symbolic links, even the last one, because sysfs consists of them. */
int sys_dir(int dir, const char *path);

/* sys_dir() for sys_next(). NULL: the error is in errno; ENOENT if `dir` is negative. */
DIR *sys_list(int dir, const char *path);
/* The next entry but . and .., in no order. NULL with errno 0: the end, or `d` is NULL; else an error. */
const struct dirent *sys_next(DIR *d);

/* dirfd() of what sys_list() returned; do not close it. Static analyzers believe that dirfd() itself can fail. */
int sys_list_fd(DIR *d);

/* Opens or creates a directory of our own, which everybody can read. -EPERM: others own it or may write to it. */
int sys_own_dir(int dir, const char *path);

bool sys_exists(int dir, const char *path);

/* The inode of a file or, if it is a link, of the link; 0: it does not exist, or cannot be looked up. */
int64_t sys_inode(int dir, const char *path);

/* Reads a symbolic link. After a failure, `target` is "". */
int sys_target(int dir, const char *path, char target[PATH_MAX]);
/* Copies the last component of a symbolic link's target to buf[size]; after a failure, "". -ENAMETOOLONG: no fit. */
int sys_link(int dir, const char *path, char *buf, size_t size);

/*
 * Reads a small file into buf[size], adds a NUL and cuts trailing white space. Returns the length, or:
 *   -EFBIG: the file does not fit
 *   -EINVAL: the file holds a NUL byte
 *   other: the errno of open or read; -ELOOP: a symbolic link
 */
ssize_t sys_read(int dir, const char *path, char *buf, size_t size);

/* Reads a whole stream into memory that the caller frees, and adds a NUL. -EFBIG: the stream exceeds `max` bytes. */
int sys_slurp(int fd, size_t max, char **out, size_t *len);

/* Reads one byte of a file, to see whether its storage answers. Follows links. Can hang. */
int sys_probe(int dir, const char *path);

/* Writes to an existing file in one write(2), as sysfs requires. -EIO also means a short write. */
int sys_poke(int dir, const char *path, const char *data, size_t len);

/* In a new process, closes all descriptors except the standard ones and those in `keep` (-1: none). */
void sys_close_but(const int *keep, size_t n);

int sys_write_all(int fd, const char *data, size_t len);

/*
 * Writes or replaces a file, with mode 0644. It appears with all of `data` or not at all, even if the process is
 * killed; that leaves ".NAME.new", which the next writer removes. A file must have one writer at a time.
 */
int sys_publish(int dir, const char *name, const char *data, size_t len);

/*
 * Overwrites a small text file in place, for when the file system is full. A kill cannot interrupt the write, which is
 * one page. Newlines, which sys_read() cuts, replace the rest of a longer old text. A reader without the
 * writers' lock can see a mixture. -ENOSPC: no space, or a text is larger than SYS_OVERWRITE_MAX.
 */
enum { SYS_OVERWRITE_MAX = 4096 };
int sys_overwrite(int dir, const char *name, const char *data, size_t len);

/* Milliseconds of CLOCK_MONOTONIC, which ignores changes of the wall clock, and stops while the host is suspended. */
int64_t sys_now_ms(void);

/* Converts a time of sys_now_ms() to milliseconds since 1970. */
int64_t sys_wall_ms(int64_t ms);

/* Milliseconds since this time of the wall clock; 0 if it is in the future. */
int64_t sys_age_ms(const struct timespec *wall);

/* Milliseconds until a deadline on the clock of sys_now_ms(); 0 if it has passed. */
int sys_left_ms(int64_t deadline_ms);

/* The ID of this boot; zeros if it cannot be read. */
void sys_boot_id(char out[UUID_SIZE]);
void sys_sleep_ms(int ms);

/*
 * The next sleep of a process that has polled since `since_ms`: an eighth of that time, 2 to 50 ms. Forty processes
 * that poll every 2 ms would keep the process that they wait for from running.
 */
static inline int sys_pause_ms(int64_t since_ms)
{
	int64_t ms = (sys_now_ms() - since_ms) / 8;

	return ms < 2 ? 2 : ms > 50 ? 50 : (int)ms;
}

/* When the process started, in clock ticks since boot (field 22 of /proc/PID/stat); 0: not known, or no process. */
uint64_t sys_process_start(pid_t pid);

/* True while a process, not a zombie, has this PID and start time. A killed one lives until its system call returns. */
bool sys_process_lives(pid_t pid, uint64_t start);

/*
 * True if the process has begun to exit. Its descriptors can no longer be listed, but the kernel can still be closing
 * them, for ever if a driver hangs.
 */
bool sys_process_exits(pid_t pid);

/*
 * The process that took the flock(2) of this file, not a child that inherited it; 0: none, or not known. A process that
 * has exited is known only in the first PID namespace.
 */
pid_t sys_lock_taker(int dir, const char *path);

/*
 * Runs the rest of the caller in a child, so that a crash cannot change the exit status of this process. Returns:
 *   a descriptor: in the child, for sys_guarded_give()
 *   -1: there can be no child, so the caller does the work itself
 *   SYS_GUARD_ENDED: in the parent, after the child's end. *status (waitpid(2)) is 0 after a normal end.
 */
enum { SYS_GUARD_ENDED = -2 };
int sys_guard(int *status);

/* Has the parent print the data, if it gets them whole, on standard output. Negative errno: not printed. */
int sys_guarded_give(int parent, const char *data, size_t len);
