/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The host: the real one, or the directory given by --root, the prefix of /sys, /proc, /dev, /run, /etc and /var/lib.
 * Every path of the program starts at host.root, and is written without a leading slash.
 *
 * It also holds the clocks and the lookup of processes: those are the real ones under --root, too.
 */
#pragma once

#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "base/err.h"
#include "base/ident.h"

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

/*
 * Milliseconds of CLOCK_MONOTONIC, the time that the host has run: all that has a time here is somebody who needs it to
 * act, and who is suspended with the host. Changes of the wall clock are nothing to it.
 */
int64_t host_now_ms(void);

/* How long ago that was, a time of the wall clock; 0: what lies ahead. */
int64_t host_age_ms(const struct timespec *wall);

/* Milliseconds until then, by the same clock; never negative. */
int host_left_ms(int64_t deadline_ms);

/* Tells this boot from all others; no more is known of it. */
void host_boot_id(char out[UUID_SIZE]);

/* Sleeps for so many milliseconds. */
void host_sleep_ms(int ms);

/*
 * When the process started, in clock ticks since boot (field 22 of /proc/PID/stat); 0 where there is no such process.
 */
uint64_t host_process_start(pid_t pid);

/*
 * Is the process that had this pid and start time still there? A process in the middle of a kernel write, killed or
 * not, is.
 */
bool host_process_lives(pid_t pid, uint64_t start);

/*
 * Has the process with this pid begun to exit? Its descriptors cannot be listed from then on, while the kernel closes
 * them, and a driver that hangs in a close keeps it so.
 */
bool host_process_exits(pid_t pid);
