/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The device handler without its loop. All state that matters is in the leases; what a pass leaves to the next one only
 * saves time and log lines.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "act/gc.h"
#include "base/err.h"
#include "base/mem.h"
#include "config/config.h"
#include "libvirt/virt.h"
#include "model/lease.h"
#include "state/store.h"
#include "sys/sys.h"

enum { FAULT_SIZE = 256 };

/* Logs a fault when it begins, changes or ends (`text` ""). `fault`: the text of the last call. */
void fault_say(char fault[FAULT_SIZE], const char *what, const char *text);

/*
 * libvirt, as a pass uses it. A pass connects only with something to ask or write, or after a failed attempt, so that
 * an idle libvirtd can exit. No lock is held meanwhile: libvirt can wait for a hook that waits for the lock.
 */
struct guests {
	const char *uri; /* NULL: libvirt's default */
	bool asks;       /* false: libvirt is never asked */
	bool connected;  /* false: the last attempt to connect failed, or libvirt did not answer */
	char state[256]; /* "connected to libvirt", or the reason for no connection; printable */
	char untold[FAULT_SIZE];
	bool tried;        /* this pass has tried to connect */
	struct virt *virt; /* NULL: no connection */
	/* Since when the pass waits for libvirt, in ms; 0: it does not wait. Shared with the loop; NULL: no loop. */
	_Atomic int64_t *asking_ms;
};

/* Connects, if this pass has not tried yet. False: no connection. */
bool guests_connect(struct guests *guests);

void guests_set_state(struct guests *guests, bool connected, const char *text);
void guests_hang_up(struct guests *guests);

/* Writes missing migration facts to the metadata of the domains that the pass has seen running. */
void guests_tell(struct guests *guests, const struct gc *pass);

/*
 * Removes Nova's due orphans that libvirt does not name; if libvirt is never asked, its files decide. Takes seconds.
 * Returns when another pass must remove the rest (CLOCK_MONOTONIC ms); 0: nothing is left.
 */
int64_t orphans_remove(struct guests *guests, struct gc *pass);

/* What a pass leaves to the next one. */
struct remembered {
	int64_t next_ms;  /* when the next pass is due, CLOCK_MONOTONIC; 0: before the first pass */
	char status[512]; /* the outcome of the pass, printable; shown after guests.state */
	char *reported;
	char failed[FAULT_SIZE], unpublished[FAULT_SIZE], unread[FAULT_SIZE];
	struct leases seen;   /* leases whose domain had the device */
	struct guests guests; /* without a connection */
};

/* A pass in a process of its own: libvirt, for which it waits, may wait for a hook, and the hook for the loop. */
struct pass {
	pid_t pid;       /* 0: no pass is running */
	int64_t late_ms; /* when the process is killed, CLOCK_MONOTONIC */
	struct arena *arena;
	struct {
		struct remembered *_Atomic left; /* the last outcome that the pass has left; NULL: none yet */
		_Atomic int64_t asking_ms;       /* since when the pass waits for libvirt; 0: it does not */
	} *shared;                               /* in the arena */
};

struct handler {
	struct host host;
	const char *config_path;
	struct config config;
	bool is_valid; /* the file was valid at the last read; the hook reads it at each call */
	int lock;      /* handler.lock; -1: not held by this process */
	struct remembered last;
	struct pass pass; /* .arena NULL: no pass runs in a process of its own */
};

/* Call handler_close() even after a failure. */
int handler_open(struct handler *handler, const char *root, const char *config_path, struct err *err);
void handler_close(struct handler *handler);

/* Reads the configuration. Logs an invalid one, and then keeps an earlier valid one. `first`: at the start. */
void handler_read_config(struct handler *handler, bool first);

/* Takes the lock, unless this process holds it in the present directory. -ETIMEDOUT: another handler runs. */
int handler_hold_lock(struct handler *handler, struct err *err);

/* Leaves the outcome in handler->last. An error is logged, and the next pass is due soon. */
void handler_pass(struct handler *handler);

/* Starts a pass in a process of its own, with the handler's lock held. False: the start failed. */
bool pass_start(struct handler *handler);

/* Takes the outcome of a pass that has ended, or kills a late one. Returns its processor time in ms; -1: it runs. */
int64_t pass_end(struct handler *handler, bool late);

/* Kills the process of a pass, if one runs, and drops its outcome. */
void pass_stop(struct handler *handler);

enum { WATCH_RUN, WATCH_LEASES, WATCH_STATUS, WATCHES };

/* Completes releases as soon as any program marks them: with inotify or, if the kernel refuses that, each second. */
struct finisher {
	int notify;           /* inotify's descriptor; -1: none */
	int watches[WATCHES]; /* inotify's, which counts from 1; 0: none */
	bool unwatched;
	int64_t changed_ns[WATCHES]; /* the directories' modification times at the last look while `unwatched` */
	struct leases logged;
	char fault[FAULT_SIZE];
	int wait_ms;
	int64_t at_ms; /* when finisher_run() is due, CLOCK_MONOTONIC; 0: now; INT64_MAX: after an event */
};

/* Reads the events. True: one of them is a reason for a pass. */
bool finisher_events(struct finisher *finisher);

/* Completes the releases that are possible now. True: a directory without a watch has changed, so a pass is needed. */
bool finisher_run(struct finisher *finisher, const struct host *host, const struct policy *policy);
void finisher_stop(struct finisher *finisher);

/*
 * Completes the releases that are possible now. Returns the number of those that are left, or a negative errno if the
 * leases cannot be read. `logged`: the leases whose failure is already logged.
 */
int finisher_finish(struct store *store, const struct policy *policy, struct leases *logged, struct err *err);

/*
 * udev's events: an mdev appears or disappears; a parent is registered or unregistered (MDEV_STATE); a PCI device or VF
 * appears, disappears or changes its driver. An event can be lost, or come early: a device's mdev_type is linked after
 * its "add".
 */
struct udev_monitor;
int udev_watch_open(struct udev_monitor **out, struct err *err);
void udev_watch_close(struct udev_monitor *watch); /* accepts NULL, as does udev_watch_fd(), which then returns -1 */
int udev_watch_fd(struct udev_monitor *watch);

/* Reads all pending events. True: one of them is a reason to look. */
bool udev_watch_read(struct udev_monitor *watch);
