/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Finishes give-backs as soon as they are marked. */
#include "finisher.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "auto.h"
#include "bounded.h"
#include "log.h"
#include "reconcile.h"
#include "store.h"

enum { FIRST_MS = 100, LAST_MS = 5000 };

struct finisher {
	pthread_t thread;
	const struct host *host;
	int wake; /* eventfd */
	atomic_bool stop;
	atomic_int left;
	pthread_mutex_t lock; /* of the policy */
	struct policy policy;
	/* the thread's own */
	int notify; /* inotify */
	struct unfinished said;
	char trouble[256]; /* the last that was said */
};

/* The same trouble is said once. */
static void say_trouble(struct finisher *f, const char *text)
{
	if (strncmp(f->trouble, text, sizeof(f->trouble) - 1) == 0)
		return;
	snprintf(f->trouble, sizeof(f->trouble), "%.255s", text);
	if (*text)
		log_warn("give-backs cannot be finished: %s", text);
}

/*
 * Asks for each lease that appears in the folder. Asked anew each time: somebody may have removed the folder, and the
 * same folder asked for twice is asked for once.
 */
static int watch(struct finisher *f, const struct store *store, struct err *err)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", store->leases);
	if (inotify_add_watch(f->notify, path, IN_MOVED_TO | IN_DELETE_SELF | IN_ONLYDIR) < 0)
		return err_sys(err, errno, "/run/vgpu-lease/leases cannot be watched");
	return 0;
}

/* One look; the folder is watched before, so that nothing appears between the two. How many are left. */
static int look(struct finisher *f)
{
	struct policy policy;
	struct store store;
	struct err err = { 0 };
	int r;

	pthread_mutex_lock(&f->lock);
	policy = f->policy;
	pthread_mutex_unlock(&f->lock);
	r = store_open(&store, f->host, true, &err);
	if (r == 0)
		r = watch(f, &store, &err);
	if (r == 0)
		r = reconcile_finish(&store, &policy, &f->said, &err);
	store_close(&store);
	bounded_reap();
	say_trouble(f, r < 0 ? err.text : "");
	atomic_store(&f->left, r < 0 ? 0 : r);
	return r;
}

static void drain(int fd)
{
	char events[4096];

	while (read(fd, events, sizeof(events)) > 0)
		;
}

static void *run(void *arg)
{
	struct finisher *f = arg;
	int wait_ms = FIRST_MS;

	while (!atomic_load(&f->stop)) {
		struct pollfd fds[] = { { .fd = f->wake, .events = POLLIN }, { .fd = f->notify, .events = POLLIN } };
		int left = look(f);

		if (poll(fds, 2, left == 0 ? -1 : wait_ms) > 0) {
			drain(f->wake);
			drain(f->notify);
			wait_ms = FIRST_MS;
		} else {
			wait_ms = wait_ms * 2 < LAST_MS ? wait_ms * 2 : LAST_MS;
		}
	}
	unfinished_free(&f->said);
	return NULL;
}

static void finisher_free(struct finisher *f)
{
	if (f->wake >= 0)
		close(f->wake);
	if (f->notify >= 0)
		close(f->notify);
	pthread_mutex_destroy(&f->lock);
	free(f);
}

int finisher_start(struct finisher **out, const struct host *host, const struct policy *policy, struct err *err)
{
	struct finisher *f = calloc(1, sizeof(*f));
	sigset_t all, before;
	int r = 0;

	*out = NULL;
	if (!f)
		abort();
	f->host = host;
	f->policy = *policy;
	pthread_mutex_init(&f->lock, NULL);
	f->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	f->notify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (f->wake < 0 || f->notify < 0)
		r = errno;
	if (r == 0) {
		sigfillset(&all);
		pthread_sigmask(SIG_SETMASK, &all, &before);
		r = pthread_create(&f->thread, NULL, run, f);
		pthread_sigmask(SIG_SETMASK, &before, NULL);
	}
	if (r) {
		finisher_free(f);
		return err_sys(err, r, "give-backs cannot be watched for");
	}
	*out = f;
	return 0;
}

void finisher_policy(struct finisher *f, const struct policy *policy)
{
	pthread_mutex_lock(&f->lock);
	f->policy = *policy;
	pthread_mutex_unlock(&f->lock);
	finisher_wake(f);
}

void finisher_wake(struct finisher *f)
{
	(void)!write(f->wake, &(uint64_t){ 1 }, sizeof(uint64_t));
}

int finisher_left(struct finisher *f)
{
	return atomic_load(&f->left);
}

void finisher_stop(struct finisher *f)
{
	if (!f)
		return;
	atomic_store(&f->stop, true);
	finisher_wake(f);
	pthread_join(f->thread, NULL);
	finisher_free(f);
}
