/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reads that a driver may never answer: done by a child that shares our memory, so that what it finds need not be
 * carried over, and left behind where the driver does not answer.
 *
 * A thread that hangs in the kernel cannot be left: its process could not end. So a thread only lends its stack and its
 * thread-local storage to the child, as vfork(2) does, and is suspended meanwhile; that the kernel lets it be killed.
 *
 * What makes the sharing safe: the child is left only in the middle of a read, by a compare-and-swap of `step`, and
 * ends without touching anything when that read returns. The buffer of a read is the child's own.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/timed_child.h"
#include "internal.h"
#include "base/file.h"
#include "base/host.h"
#include "base/text.h"

/* Under valgrind a child that shares memory is a plain fork: there the work is a plain call, without a bound. */
#ifdef HAVE_VALGRIND_VALGRIND_H
#include <valgrind/valgrind.h>
#else
#define RUNNING_ON_VALGRIND 0
#endif

enum { CHILD_STACK = 160 * 1024, THREAD_STACK = 256 * 1024, SILENT_MAX = 64, STEP_MS = 10, LEFT = -1 };

struct look {
	int (*work)(void *arg, struct err *err);
	void *arg;
	int keep;
	int result; /* 1 until the work is done */
	struct err err;
	atomic_int step;       /* odd: in a read; even: at work; LEFT: nobody waits any more */
	atomic_llong asked_ms; /* when the read began */
	char who[PARENT_SIZE]; /* whose answer it waits for */
	_Atomic pid_t pid;     /* of the child */
	atomic_int users;      /* the last one frees it */
	sem_t done;
	size_t nsilent;
	char silent[SILENT_MAX][PARENT_SIZE]; /* who is not asked */
};

/* The child's, which has the thread's storage. */
static _Thread_local struct look *current;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct timed_child_silent silent[SILENT_MAX];

/* With the lock held. */
static bool is_silent(const struct timed_child_silent *s)
{
	return *s->who && host_process_lives(s->pid, s->start);
}

size_t timed_child_silents(struct timed_child_silent *out, size_t max)
{
	size_t n = 0;

	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < SILENT_MAX && n < max; i++)
		if (is_silent(&silent[i]))
			out[n++] = silent[i];
	pthread_mutex_unlock(&lock);
	return n;
}

void timed_child_add_silent(const struct timed_child_silent *s)
{
	struct timed_child_silent *place = NULL;

	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < SILENT_MAX; i++) {
		if (strcmp(silent[i].who, s->who) == 0 && is_silent(&silent[i])) {
			place = NULL;
			break;
		}
		if (!place && !is_silent(&silent[i]))
			place = &silent[i];
	}
	if (place)
		*place = *s;
	pthread_mutex_unlock(&lock);
}

static void put(struct look *look)
{
	if (atomic_fetch_sub(&look->users, 1) != 1)
		return;
	sem_destroy(&look->done);
	free(look);
}

/* Nothing of ours but `keep`: a child that hangs must hold no lock, and nothing that libvirt reads to its end. */
static void close_others(int keep)
{
	timed_child_drop_standard();
	if (keep > 3)
		close_range(3, (unsigned)keep - 1, 0);
	close_range((unsigned)(keep > 2 ? keep + 1 : 3), UINT_MAX, 0);
}

static int child(void *arg)
{
	struct look *look = arg;

	atomic_store(&look->pid, getpid());
	close_others(look->keep);
	current = look;
	look->result = look->work(look->arg, &look->err);
	sem_post(&look->done);
	_exit(0);
}

static void *lend(void *arg)
{
	_Alignas(16) char stack[CHILD_STACK];
	struct look *look = arg;
	pid_t pid = clone(child, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, look);

	if (pid < 0)
		look->result = err_sys(&look->err, errno, "clone");
	else
		waitpid(pid, NULL, 0);
	/* Killed in the middle of its work: nobody knows what state that is in. */
	if (look->result == 1)
		look->result = err_set(&look->err, EINTR, "the process that reads sysfs was killed");
	if (pid < 0 || look->result < 0)
		sem_post(&look->done);
	put(look);
	return NULL;
}

static int start(struct look *look, struct err *err)
{
	pthread_attr_t attr;
	sigset_t all, before;
	pthread_t thread;
	int r;

	sigfillset(&all);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, THREAD_STACK);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r = pthread_create(&thread, &attr, lend, look);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	return r ? err_sys(err, r, "thread") : 0;
}

/* Waits so long for the end of the work. */
static bool wait_done(struct look *look, int64_t ms)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += (time_t)(ms / 1000);
	until.tv_nsec += (long)(ms % 1000) * 1000000;
	if (until.tv_nsec >= 1000000000) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000;
	}
	while (sem_clockwait(&look->done, CLOCK_MONOTONIC, &until) < 0)
		if (errno != EINTR)
			return false;
	return true;
}

/* The read that it is at goes on for too long: from now on it is alone. */
static bool leave(struct look *look, int wait_ms, int64_t *again_ms)
{
	int step = atomic_load(&look->step);
	int64_t over = host_now_ms() - atomic_load(&look->asked_ms);
	struct timed_child_silent s;

	*again_ms = STEP_MS;
	if (step % 2 == 0)
		return false;
	if (over < wait_ms) {
		*again_ms = wait_ms - over;
		return false;
	}
	s = (struct timed_child_silent){ .pid = atomic_load(&look->pid), .since_ms = atomic_load(&look->asked_ms) };
	s.start = host_process_start(s.pid);
	memcpy(s.who, look->who, sizeof(s.who));
	if (!atomic_compare_exchange_strong(&look->step, &step, LEFT))
		return false;
	timed_child_add_silent(&s);
	return true;
}

int timed_child_look(int (*work)(void *arg, struct err *err), void *arg, int keep, int wait_ms, struct err *err)
{
	struct look *look;
	struct timed_child_silent known[SILENT_MAX];
	int64_t next_ms = wait_ms;
	int r;

	if (current || timed_child_is_child() || RUNNING_ON_VALGRIND)
		return work(arg, err);
	look = calloc(1, sizeof(*look));
	if (!look)
		abort();
	look->work = work;
	look->arg = arg;
	look->keep = keep;
	look->result = 1;
	look->nsilent = timed_child_silents(known, SILENT_MAX);
	for (size_t i = 0; i < look->nsilent; i++)
		memcpy(look->silent[i], known[i].who, PARENT_SIZE);
	atomic_store(&look->users, 2);
	sem_init(&look->done, 0, 0);
	r = start(look, err);
	if (r < 0) {
		put(look);
		put(look);
		return r;
	}
	while (!wait_done(look, next_ms)) {
		if (!leave(look, wait_ms, &next_ms))
			continue;
		err_set(err, ETIMEDOUT, "%s: its driver does not answer", look->who);
		put(look);
		return -ETIMEDOUT;
	}
	r = look->result;
	if (r < 0)
		*err = look->err;
	put(look);
	return r;
}

static ssize_t ask(struct look *look, const char *who, int dir, const char *path, char *buf, size_t size)
{
	int step = atomic_load(&look->step) + 1;
	ssize_t r;

	for (size_t i = 0; i < look->nsilent; i++)
		if (strcmp(look->silent[i], who) == 0)
			return -ETIMEDOUT;
	text_copy(look->who, sizeof(look->who), who);
	atomic_store(&look->asked_ms, host_now_ms());
	atomic_store(&look->step, step);
	r = file_read(dir, path, buf, size);
	if (!atomic_compare_exchange_strong(&look->step, &step, step + 1))
		_exit(0);
	return r;
}

/* One read by itself. It owns all that the read writes to: who asked may have gone. */
struct single {
	int dir;
	size_t size;
	ssize_t r;
	char who[PARENT_SIZE], path[PATH_MAX], text[];
};

static int read_single(void *arg, struct err *err)
{
	struct single *single = arg;

	(void)err;
	single->r = timed_child_read(single->who, single->dir, single->path, single->text, single->size);
	return 0;
}

ssize_t timed_child_read(const char *who, int dir, const char *path, char *buf, size_t size)
{
	struct single *single;
	struct err err;
	ssize_t r;

	if (timed_child_is_child() || RUNNING_ON_VALGRIND)
		return file_read(dir, path, buf, size);
	if (current)
		return ask(current, who, dir, path, buf, size);
	single = malloc(sizeof(*single) + size);
	if (!single)
		abort();
	single->dir = dir;
	single->size = size;
	if (!text_copy(single->who, sizeof(single->who), who) || !text_copy(single->path, sizeof(single->path), path)) {
		free(single);
		return -ENAMETOOLONG;
	}
	r = timed_child_look(read_single, single, dir, BOUNDED_ANSWER_MS, &err);
	/* The read that hangs will write here. */
	if (r == -ETIMEDOUT)
		return r;
	if (r == 0 && (r = single->r) >= 0)
		memcpy(buf, single->text, (size_t)r + 1);
	free(single);
	return r;
}
