/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Completes releases as soon as they are marked. */
#include "daemon/finisher.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/mem.h"
#include "sys/log.h"
#include "daemon/releases.h"
#include "state/store.h"

enum { FIRST_MS = 100, LAST_MS = 5000, UNWATCHED_MS = 1000 };

struct finisher {
	pid_t pid; /* of the process; 0: not running */
	struct host host;
	int wake, lost; /* eventfds: to the process, and from it */
	struct policy policy;
	/* used in the process only */
	int notify;       /* inotify; -1: unavailable */
	int run, leases;  /* the watches of these directories; -1 none */
	struct stat seen; /* the directory of leases, if it is not watched */
	struct lease_marks logged;
	char trouble[256]; /* the last one logged */
	bool said_unwatched;
};

/* Logs the trouble unless it was the last one logged. */
static void say_trouble(struct finisher *f, const char *text)
{
	if (strncmp(f->trouble, text, sizeof(f->trouble) - 1) == 0)
		return;
	snprintf(f->trouble, sizeof(f->trouble), "%.255s", text);
	if (*text)
		log_warn("cannot complete pending releases: %s", text);
}

static int add_watch(struct finisher *f, int *watch, int dir, uint32_t events)
{
	char path[64];
	int is;

	if (f->notify < 0)
		f->notify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (f->notify < 0)
		return -errno;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", dir);
	is = inotify_add_watch(f->notify, path, events | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR);
	if (is < 0)
		return -errno;
	/* Another directory has replaced the old one, which no longer matters. */
	if (*watch >= 0 && *watch != is)
		inotify_rm_watch(f->notify, *watch);
	*watch = is;
	return 0;
}

/*
 * Watches for leases that appear or disappear. Called before each look, because the directory may have been replaced;
 * adding a watch twice has no effect. If the kernel has no watch left (its limits are per user), returns false: the
 * finisher then looks every second, and tries again.
 */
static bool watch(struct finisher *f, const struct store *store)
{
	int r = add_watch(f, &f->leases, store->leases, IN_MOVED_TO | IN_DELETE | IN_MOVED_FROM);

	if (r == 0)
		r = add_watch(f, &f->run, store->run, 0);
	if (r < 0 && !f->said_unwatched)
		log_warn("/run/vgpu-lease/leases: cannot be watched, checked every second: %s: raise "
			 "fs.inotify.max_user_%s",
			 err_describe(-r), r == -ENOSPC ? "watches" : "instances");
	if (r == 0 && f->said_unwatched)
		log_info("/run/vgpu-lease/leases: watched again");
	f->said_unwatched = r < 0;
	return r == 0;
}

static void tell_lost(struct finisher *f)
{
	(void)!write(f->lost, &(uint64_t){ 1 }, sizeof(uint64_t));
}

/* Without a watch, any change counts as a loss, because an unnecessary pass does no harm. */
static void note_change(struct finisher *f, const struct store *store)
{
	struct stat now;

	if (fstat(store->leases, &now) < 0)
		return;
	if (f->seen.st_ino &&
	    (now.st_ino != f->seen.st_ino || now.st_dev != f->seen.st_dev ||
	     now.st_mtim.tv_sec != f->seen.st_mtim.tv_sec || now.st_mtim.tv_nsec != f->seen.st_mtim.tv_nsec))
		tell_lost(f);
	f->seen = now;
}

/* Completes what it can, after setting the watch so that no new lease is missed. Returns how many releases are left. */
static int look(struct finisher *f, bool *watched)
{
	struct store store;
	struct err err = { 0 };
	int r = store_open(&store, &f->host, true, &err);
	*watched = r == 0 && watch(f, &store);
	if (r == 0 && !*watched)
		note_change(f, &store);
	if (r == 0)
		r = releases_finish(&store, &f->policy, &f->logged, &err);
	store_close(&store);
	say_trouble(f, r < 0 ? err.text : "");
	return r;
}

static void drain(int eventfd)
{
	(void)!read(eventfd, &(uint64_t){ 0 }, sizeof(uint64_t));
}

/* Has a lease or directory disappeared? Ignores hidden temporary files. */
static bool is_loss(const struct finisher *f, const struct inotify_event *event)
{
	if (event->mask & IN_Q_OVERFLOW)
		return true;
	if (event->wd != f->run && event->wd != f->leases)
		return false;
	if (event->mask & (IN_DELETE_SELF | IN_MOVE_SELF | IN_UNMOUNT | IN_IGNORED))
		return true;
	return event->mask & (IN_DELETE | IN_MOVED_FROM) && event->len && event->name[0] != '.';
}

static void read_events(struct finisher *f)
{
	char events[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
	bool loss = false;
	ssize_t n;

	while ((n = read(f->notify, events, sizeof(events))) > 0)
		for (ssize_t at = 0; at < n;) {
			const struct inotify_event *event = (const struct inotify_event *)(events + at);

			loss |= is_loss(f, event);
			at += (ssize_t)(sizeof(*event) + event->len);
		}
	if (loss)
		tell_lost(f);
}

/* Milliseconds until the next look if no event comes; -1: no limit. */
static int patience(int left, bool watched, int wait_ms)
{
	if (left == 0)
		return watched ? -1 : UNWATCHED_MS;
	return watched || wait_ms < UNWATCHED_MS ? wait_ms : UNWATCHED_MS;
}

static _Noreturn void run(struct finisher *f)
{
	int wait_ms = FIRST_MS;
	bool watched;

	for (;;) {
		int left = look(f, &watched);
		struct pollfd fds[] = { { .fd = f->wake, .events = POLLIN }, { .fd = f->notify, .events = POLLIN } };

		if (poll(fds, 2, patience(left, watched, wait_ms)) > 0) {
			drain(f->wake);
			read_events(f);
			wait_ms = FIRST_MS;
		} else {
			wait_ms = wait_ms * 2 < LAST_MS ? wait_ms * 2 : LAST_MS;
		}
	}
}

/* Runs in the new process, which must not keep the handler's lock, or it would look like a handler. */
static _Noreturn void begin(struct finisher *f, pid_t parent)
{
	const int keep[] = { f->host.root, f->host.libvirt, f->wake, f->lost };
	sigset_t none;

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(0);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	sys_close_but(keep, ARRAY_SIZE(keep));
	run(f);
}

static int launch(struct finisher *f, struct err *err)
{
	pid_t self = getpid();

	/* The child must open its own log socket. */
	log_close();
	f->pid = fork();
	if (f->pid == 0)
		begin(f, self);
	if (f->pid > 0)
		return 0;
	f->pid = 0;
	return err_sys(err, errno, "fork");
}

static void end(struct finisher *f)
{
	if (f->pid) {
		kill(f->pid, SIGTERM);
		waitpid(f->pid, NULL, 0);
	}
	f->pid = 0;
}

int finisher_start(struct finisher **out, const struct host *host, const struct policy *policy, struct err *err)
{
	struct finisher *f = mem_new(1, sizeof(*f));
	int r;

	*out = NULL;
	f->host = *host;
	f->policy = *policy;
	f->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	f->lost = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	f->notify = f->run = f->leases = -1;
	r = f->wake < 0 || f->lost < 0 ? err_sys(err, errno, "cannot watch for pending releases") : launch(f, err);
	if (r < 0) {
		finisher_stop(f);
		return r;
	}
	*out = f;
	return 0;
}

static void start_anew(struct finisher *f)
{
	struct err err;

	if (launch(f, &err) < 0)
		log_warn("pending releases are not completed: %s", err.text);
}

void finisher_policy(struct finisher *f, const struct policy *policy)
{
	end(f);
	f->policy = *policy;
	start_anew(f);
}

void finisher_wake(struct finisher *f)
{
	if (f->pid == 0 || waitpid(f->pid, NULL, WNOHANG) != 0)
		start_anew(f);
	(void)!write(f->wake, &(uint64_t){ 1 }, sizeof(uint64_t));
}

int finisher_lost_fd(const struct finisher *f)
{
	return f->lost;
}

void finisher_stop(struct finisher *f)
{
	if (!f)
		return;
	end(f);
	if (f->wake >= 0)
		close(f->wake);
	if (f->lost >= 0)
		close(f->lost);
	free(f);
}
