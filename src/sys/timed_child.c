/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A child that shares our memory costs a tenth of a fork, and what it finds need not be carried over.
 *
 * A thread that hangs in the kernel cannot be left: its process could not end. So a thread only lends its thread-local
 * storage to the child, as vfork(2) does, and is suspended meanwhile; the kernel lets such a thread be killed.
 *
 * The sharing is safe because the child is left only in the middle of a call that can hang, by a compare-and-swap of
 * `step`, and ends without touching anything when that call returns. The buffer of the call is the child's own.
 */
#include "sys/timed_child.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/text.h"
#include "sys/sys.h"

/* Under valgrind a child that shares memory is a plain fork: there the work is a plain call, without a bound. */
#ifdef HAVE_VALGRIND_VALGRIND_H
#include <valgrind/valgrind.h>
#else
#define RUNNING_ON_VALGRIND 0
#endif

enum { CHILD_STACK = 160 * 1024, THREAD_STACK = 64 * 1024, STEP_MS = 10, LEFT = -1 };

/* Allocated as a mapping: a page that is not used costs nothing, so what every child uses stands together. */
struct job {
	_Alignas(16) char stack[CHILD_STACK];
	int (*work)(void *arg, struct err *err);
	void *arg;
	int keep[2];
	sigset_t mask;
	cpu_set_t cpus;        /* the child's, once it runs; none: it was started on any */
	atomic_bool looks;     /* the bound is for each read, else for all of it */
	atomic_int wait_ms;    /* the bound */
	atomic_llong asked_ms; /* since when it counts */
	atomic_int step;       /* odd: in a call that can hang; even: at work; LEFT: nobody waits any more */
	char who[PARENT_SIZE]; /* whose answer it waits for */
	_Atomic pid_t pid;     /* of the child */
	atomic_int users;      /* the last one frees it */
	int result;            /* 1 until the work is done */
	sem_t done;
	size_t nsilent;
	struct err err;
	struct timed_child_silent silent[TIMED_CHILD_SILENT_MAX]; /* whose last answer was late: not asked */
};

/* The child's, which has the thread's storage. */
static _Thread_local struct job *current;

bool timed_child_is_this(void)
{
	return current;
}

#ifdef __SANITIZE_ADDRESS__
/* LeakSanitizer stops all threads, and waits for ever for one that lends its storage to a call that hangs. */
static atomic_bool has_left;
__attribute__((visibility("default"))) int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void)
{
	return has_left;
}
#else
static bool has_left;
#endif

static void put(struct job *job)
{
	if (atomic_fetch_sub(&job->users, 1) != 1)
		return;
	sem_destroy(&job->done);
	free(job);
}

/* libvirt reads our stdout and stderr to their end: whoever keeps them open keeps libvirt waiting. */
static void drop_standard(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int fd = 0; fd <= 2; fd++)
		if (null < 0 || dup2(null, fd) < 0)
			close(fd);
}

static void close_but(int a, int b)
{
	int low = a < b ? a : b, high = a < b ? b : a, from = 3;

	for (int i = 0; i < 2; i++) {
		int kept = i ? high : low;

		if (kept < from)
			continue;
		if (kept > from)
			close_range((unsigned)from, (unsigned)kept - 1, 0);
		from = kept + 1;
	}
	close_range((unsigned)from, UINT_MAX, 0);
}

static int child(void *arg)
{
	struct job *job = arg;

	atomic_store(&job->pid, getpid());
	/* Whatever keeps the processor that it was started on does not keep the child. */
	if (CPU_COUNT(&job->cpus))
		sched_setaffinity(0, sizeof(job->cpus), &job->cpus);
	drop_standard();
	close_but(job->keep[0], job->keep[1]);
	current = job;
	sigprocmask(SIG_SETMASK, &job->mask, NULL);
	job->result = job->work(job->arg, &job->err);
	/* Release the lock first: the parent may test it as soon as `done` is posted. */
	if (job->keep[1] >= 0)
		close(job->keep[1]);
	sem_post(&job->done);
	_exit(0);
}

static void *lend(void *arg)
{
	struct job *job = arg;
	pid_t pid = clone(child, job->stack + sizeof(job->stack), CLONE_VM | CLONE_VFORK | SIGCHLD, job);
	int status = 0;

	current = NULL;
	if (pid < 0)
		job->result = err_sys(&job->err, errno, "clone");
	else
		waitpid(pid, &status, 0);
	if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_FAILURE)
		mem_out();
	/* Killed in the middle of its work: nobody knows what state that is in. */
	if (job->result == 1)
		job->result = err_set(&job->err, EINTR, "the process that accesses sysfs was killed");
	/* A child that ended by itself has said so; of one that was killed that is not known. Twice does no harm. */
	if (pid < 0 || job->result < 0 || !WIFEXITED(status))
		sem_post(&job->done);
	put(job);
	return NULL;
}

static int start(struct job *job, struct err *err)
{
	static atomic_flag begun = ATOMIC_FLAG_INIT;
	pthread_attr_t attr;
	sigset_t all;
	pthread_t thread;
	int r;

	/* A heap of its own for each thread would cost more than the thread. */
	if (!atomic_flag_test_and_set(&begun))
		mallopt(M_ARENA_MAX, 1);
	sigfillset(&all);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, THREAD_STACK);
	pthread_sigmask(SIG_SETMASK, &all, &job->mask);
	r = pthread_create(&thread, &attr, lend, job);
	pthread_sigmask(SIG_SETMASK, &job->mask, NULL);
	pthread_attr_destroy(&attr);
	return r ? err_sys(err, r, "thread") : 0;
}

/* Waits so long for the end of the work. */
static bool wait_done(struct job *job, int64_t ms)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += (time_t)(ms / 1000);
	until.tv_nsec += (long)(ms % 1000) * 1000000;
	if (until.tv_nsec >= 1000000000) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000;
	}
	while (sem_clockwait(&job->done, CLOCK_MONOTONIC, &until) < 0)
		if (errno != EINTR)
			return false;
	return true;
}

/* A look may have begun meanwhile, whose bound is a shorter one. */
static int64_t look_again_ms(int64_t left)
{
	if (left <= 0)
		return STEP_MS;
	return left < BOUNDED_ANSWER_MS ? left : BOUNDED_ANSWER_MS;
}

/* If its time is up in a call that can hang, it is alone from now on; else *again_ms says when to look again. */
static bool leave(struct job *job, int64_t *again_ms)
{
	int step = atomic_load(&job->step);
	int64_t asked_ms = atomic_load(&job->asked_ms), left = asked_ms + job->wait_ms - sys_now_ms();
	struct timed_child_silent s;

	*again_ms = look_again_ms(left);
	if (left > 0 || step % 2 == 0)
		return false;
	s = (struct timed_child_silent){ .pid = atomic_load(&job->pid), .since_ms = asked_ms };
	s.start = sys_process_start(s.pid);
	memcpy(s.who, job->who, sizeof(s.who));
	if (!atomic_compare_exchange_strong(&job->step, &step, LEFT))
		return false;
	if (job->looks)
		timed_child_add_silent(&s);
	has_left = true;
	return true;
}

static struct job *job_new(int (*work)(void *arg, struct err *err), void *arg, int root, int wait_ms)
{
	struct job *job = mem_alloc(sizeof(*job));

	memset(&job->work, 0, offsetof(struct job, err) - offsetof(struct job, work));
	job->work = work;
	job->arg = arg;
	job->keep[0] = root;
	job->keep[1] = -1;
	job->wait_ms = wait_ms;
	job->result = 1;
	atomic_store(&job->asked_ms, sys_now_ms());
	atomic_store(&job->users, 2);
	job->nsilent = timed_child_silents(job->silent, TIMED_CHILD_SILENT_MAX);
	sem_init(&job->done, 0, 0);
	return job;
}

/*
 * The thread and the child are started on the caller's processor, where each of these turns is a switch: to wake
 * another one that sleeps takes longer, in a virtual machine, than most of what the child does. The caller itself stays
 * free, as a driver that spins keeps the processor. False: not allowed.
 */
static bool stay_here(cpu_set_t *before)
{
	cpu_set_t here;

	CPU_ZERO(&here);
	CPU_SET((size_t)sched_getcpu(), &here);
	return sched_getaffinity(0, sizeof(*before), before) == 0 && sched_setaffinity(0, sizeof(here), &here) == 0;
}

/* Takes the job. */
static int run(struct job *job, struct err *err)
{
	int64_t next_ms = look_again_ms(job->wait_ms);
	cpu_set_t before;
	bool stays = stay_here(&before);
	int r;

	if (stays)
		job->cpus = before;
	r = start(job, err);
	if (stays)
		sched_setaffinity(0, sizeof(before), &before);
	if (r < 0)
		put(job);
	while (r == 0 && !wait_done(job, next_ms)) {
		if (!leave(job, &next_ms))
			continue;
		if (job->looks)
			r = err_set(err, ETIMEDOUT, "%s: its driver does not answer", job->who);
		else
			r = err_set(err, ETIMEDOUT, "the kernel did not answer within %g s",
				    (job->wait_ms + 50 - (job->wait_ms + 50) % 100) / 1000.0);
	}
	if (r == 0 && (r = job->result) < 0)
		*err = job->err;
	put(job);
	return r;
}

int timed_child_run(int (*work)(void *arg, struct err *err), void *arg, int root, int lock_fd, int wait_ms,
		    struct err *err)
{
	struct job *job;

	if (RUNNING_ON_VALGRIND)
		return work(arg, err);
	job = job_new(work, arg, root, wait_ms);
	job->keep[1] = lock_fd;
	return run(job, err);
}

/* Part of work that writes: the bound is that of a look meanwhile, whose time does not count as the write's. */
static int look_within(struct job *job, int (*work)(void *arg, struct err *err), void *arg, int wait_ms,
		       struct err *err)
{
	int64_t asked_ms = atomic_load(&job->asked_ms), start = sys_now_ms();
	int all_ms = atomic_exchange(&job->wait_ms, wait_ms), r;

	atomic_store(&job->looks, true);
	r = work(arg, err);
	atomic_store(&job->looks, false);
	atomic_store(&job->asked_ms, asked_ms + sys_now_ms() - start);
	atomic_store(&job->wait_ms, all_ms);
	return r;
}

int timed_child_look(int (*work)(void *arg, struct err *err), void *arg, int root, int wait_ms, struct err *err)
{
	struct job *job;

	if (RUNNING_ON_VALGRIND || (current && current->looks))
		return work(arg, err);
	if (current)
		return look_within(current, work, arg, wait_ms, err);
	job = job_new(work, arg, root, wait_ms);
	job->looks = true;
	return run(job, err);
}

/* Around a call that can hang. Nothing is touched any more once nobody waits. */
static void begin_call(struct job *job)
{
	if (job->looks)
		atomic_store(&job->asked_ms, sys_now_ms());
	atomic_fetch_add(&job->step, 1);
}

static void end_call(struct job *job)
{
	int step = atomic_load(&job->step);

	if (step == LEFT || !atomic_compare_exchange_strong(&job->step, &step, step + 1))
		_exit(0);
}

static ssize_t read_or_probe(int dir, const char *path, char *buf, size_t size)
{
	return buf ? sys_read(dir, path, buf, size) : sys_probe(dir, path);
}

static ssize_t ask(struct job *job, const char *who, int dir, const char *path, char *buf, size_t size)
{
	ssize_t r;

	for (size_t i = 0; i < job->nsilent; i++)
		if (strcmp(job->silent[i].who, who) == 0)
			return -ETIMEDOUT;
	text_copy(job->who, sizeof(job->who), who);
	begin_call(job);
	r = read_or_probe(dir, path, buf, size);
	end_call(job);
	return r;
}

int timed_child_poke(int dir, const char *path, const char *data, size_t len)
{
	struct job *job = current;
	int r;

	if (!job)
		return sys_poke(dir, path, data, len);
	begin_call(job);
	r = sys_poke(dir, path, data, len);
	end_call(job);
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
	single->r = timed_child_read(single->who, single->dir, single->path, single->size ? single->text : NULL,
				     single->size);
	return 0;
}

ssize_t timed_child_read(const char *who, int dir, const char *path, char *buf, size_t size)
{
	struct single *single;
	struct err err;
	ssize_t r;

	if (RUNNING_ON_VALGRIND)
		return read_or_probe(dir, path, buf, size);
	if (current)
		return ask(current, who, dir, path, buf, size);
	single = mem_alloc(sizeof(*single) + size);
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
	if (r == 0 && (r = single->r) >= 0 && buf)
		memcpy(buf, single->text, (size_t)r + 1);
	free(single);
	return r;
}

int timed_child_detach(int keep, struct err *err)
{
	pid_t pid = fork();

	if (pid < 0)
		return err_sys(err, errno, "fork");
	if (pid > 0) {
		waitpid(pid, NULL, 0);
		return 0;
	}
	setsid();
	/* A second child is nobody's to wait for. */
	if (fork() != 0)
		_exit(0);
	drop_standard();
	close_but(keep, -1);
	return 1;
}
