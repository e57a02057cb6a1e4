/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Completes releases as soon as they are marked. */
#include "handler/handler.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "act/release.h"
#include "model/event.h"
#include "sys/log.h"

enum { FIRST_MS = 100, LAST_MS = 5000, UNWATCHED_MS = 1000 };
enum { TURN_MS = 20, LOOK_MS = 60000, LOCK_MS = 5000 };

void finisher_stop(struct finisher *f)
{
	lease_list_free(&f->logged);
	if (f->notify >= 0)
		close(f->notify);
	f->notify = -1;
}

void fault_say(char fault[FAULT_SIZE], const char *what, const char *text)
{
	if (strncmp(fault, text, FAULT_SIZE - 1) == 0)
		return;
	if (*text)
		log_warn("%s%s", what, text);
	else
		log_info("resolved: %s%s", what, fault);
	snprintf(fault, FAULT_SIZE, "%s", text);
}

static int add_watch(struct finisher *f, int *watch, int dir)
{
	char path[64];
	int is;

	if (f->notify < 0)
		f->notify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (f->notify < 0)
		return -errno;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", dir);
	is = inotify_add_watch(f->notify, path,
			       IN_MOVED_TO | IN_DELETE | IN_MOVED_FROM | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR);
	if (is < 0)
		return -errno;
	/* Remove the watch of a directory that was replaced. */
	if (*watch && *watch != is)
		inotify_rm_watch(f->notify, *watch);
	*watch = is;
	return 0;
}

/*
 * Watches the directories that exist; before each look, because one may be new or replaced. If the kernel refuses a
 * watch (its limits are per user), returns whether a directory has changed since the last call.
 */
static bool watch_directories(struct finisher *f, const struct host *host, const struct store *store)
{
	autoclose int status = openat(host->libvirt, "run/libvirt/qemu", O_PATH | O_DIRECTORY | O_CLOEXEC);
	const int dirs[WATCHES] = { store->run, store->leases, status };
	bool changed = false;
	int r = 0;

	for (size_t i = 0; r == 0 && i < WATCHES; i++)
		if (dirs[i] >= 0)
			r = add_watch(f, &f->watches[i], dirs[i]);
	/*
	 * Skip WATCH_RUN, to which the handler itself writes. If it is replaced, so is the directory of leases. Any
	 * change counts, because an unnecessary pass does no harm.
	 */
	for (size_t i = WATCH_LEASES; r < 0 && i < WATCHES; i++) {
		int64_t changed_ns = 0;
		struct stat now;

		if (dirs[i] >= 0 && fstat(dirs[i], &now) == 0)
			changed_ns = (int64_t)now.st_mtim.tv_sec * 1000000000 + now.st_mtim.tv_nsec;
		changed |= f->unwatched && changed_ns != f->changed_ns[i];
		f->changed_ns[i] = changed_ns;
	}
	if (r < 0 && !f->unwatched)
		log_warn("/run/vgpu-lease/leases: cannot be watched, checked every second: %s: raise "
			 "fs.inotify.max_user_%s",
			 err_describe(-r), r == -ENOSPC ? "watches" : "instances");
	if (r == 0 && f->unwatched)
		log_info("/run/vgpu-lease/leases: watched again");
	f->unwatched = r < 0;
	return changed;
}

/* A reason for a pass: a lease or a directory has disappeared, or a status file has changed. */
static bool is_news(const struct finisher *f, const struct inotify_event *event)
{
	size_t dir = 0;

	if (event->mask & IN_Q_OVERFLOW)
		return true;
	while (dir < WATCHES && event->wd != f->watches[dir])
		dir++;
	if (dir == WATCHES)
		return false;
	if (event->mask & (IN_DELETE_SELF | IN_MOVE_SELF | IN_UNMOUNT | IN_IGNORED))
		return true;
	/* Records come and go in the state's own directory. */
	if (dir == WATCH_RUN || !event->len)
		return false;
	/* A hidden file is a temporary file of ours, or the status file of a domain whose name begins with a dot. */
	return dir == WATCH_STATUS || (event->name[0] != '.' && event->mask & (IN_DELETE | IN_MOVED_FROM));
}

bool finisher_events(struct finisher *f)
{
	char events[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
	bool news = false;
	ssize_t n;

	f->at_ms = 0;
	f->wait_ms = 0;
	while ((n = read(f->notify, events, sizeof(events))) > 0)
		for (ssize_t at = 0; at < n;) {
			const struct inotify_event *event = (const struct inotify_event *)(events + at);

			news |= is_news(f, event);
			at += (ssize_t)(sizeof(*event) + event->len);
		}
	return news;
}

/* Sets the time of the next look, for the case that no event comes. */
static void be_patient(struct finisher *f, int left)
{
	int most_ms = f->unwatched ? UNWATCHED_MS : LAST_MS, next_ms = f->wait_ms ? f->wait_ms * 2 : FIRST_MS;

	f->wait_ms = left == 0 || next_ms > most_ms ? most_ms : next_ms;
	f->at_ms = left == 0 && !f->unwatched ? INT64_MAX : sys_now_ms() + f->wait_ms;
}

/* Tries once. True: the lease is released, or its domain has taken it over. */
static bool finish_one(struct store *store, const struct policy *policy, const struct lease *lease,
		       const struct leases *logged, struct leases *failed)
{
	struct err err = { 0 };
	int r;

	if (lease_is_hooks(lease, policy->release_wait_s))
		return false;
	r = release_finish(store, policy, lease->vgpu.id, sys_now_ms() + TURN_MS, sys_now_ms() + LOOK_MS, &err);
	if (r == 0)
		event_log(EVENT_RELEASED, event_of(lease), "release: domain %s: released %s", lease->name,
			  lease->vgpu.id);
	if (r >= 0)
		return true;
	if ((r == -EBUSY || r == -EAGAIN) && sys_now_ms() - lease->since_ms < policy_release_ms(policy))
		return false;
	if (!lease_is_among(logged, lease))
		event_log(EVENT_DELAYED, event_of(lease), "release: domain %s: cannot release %s yet, trying again: %s",
			  lease->name, lease->vgpu.id, err.text);
	lease_add(failed, lease);
	return false;
}

int finisher_finish(struct store *store, const struct policy *policy, struct leases *logged, struct err *err)
{
	struct leases failed = { 0 };
	autoleases struct leases leases = { 0 };
	int left = 0, r = lease_list_locked(store, LOCK_MS, &leases, err);

	if (r < 0)
		return r;
	for (EACH(const struct lease *, lease, leases.list, leases.n))
		if (lease->state == LEASE_RELEASING && !finish_one(store, policy, lease, logged, &failed))
			left++;
	lease_list_free(logged);
	*logged = failed;
	return left;
}

bool finisher_run(struct finisher *f, const struct host *host, const struct policy *policy)
{
	struct store store;
	struct err err = { 0 };
	bool changed = false;
	int r = store_open(&store, host, true, &err);

	if (r == 0) {
		changed = watch_directories(f, host, &store);
		r = finisher_finish(&store, policy, &f->logged, &err);
	}
	store_close(&store);
	fault_say(f->fault, "cannot complete pending releases: ", r < 0 ? err.text : "");
	be_patient(f, r);
	return changed;
}
