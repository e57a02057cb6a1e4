/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Calls that a driver may never answer, made in a child so that the wait has a limit.
 *
 * The parent abandons the child by a compare-and-swap of `step`, and only during a call that can hang. An abandoned
 * child ends when that call returns, so it writes nothing after the parent has reported a hang.
 */
#include "sys/timed_child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/text.h"
#include "sys/sys.h"

enum { STEP_MS = 10, LEFT = -1 };

/* The state of the work, in memory shared with the child. */
struct job {
	bool looks; /* all of the work is reads */
	int wait_ms, read_ms;
	atomic_llong began_ms; /* when the limit of wait_ms for all of the work began */
	atomic_bool reads;     /* the current call is a read with a limit of its own, read_ms */
	atomic_llong asked_ms; /* when the last read with the limit read_ms began */
	atomic_llong met_ms;   /* when the reads of `who` began; together they may take 2 * read_ms */
	atomic_int step;       /* odd: in a call that can hang; even: between calls; LEFT: abandoned */
	char who[PARENT_SIZE]; /* the device of the last read */
	pid_t parent;
	bool done;
	int result;
	struct err err;
};

enum { JOB_ROOM = 2 * sizeof(struct job) }; /* upper limit of a job's space in an arena */

static struct job *current; /* set only in the child */

/* The abandoned children of this process, and the devices that do not answer. */
static struct {
	pid_t *left;
	struct timed_child_silent silent[TIMED_CHILD_SILENT_MAX];
	size_t nleft, nsilent;
} all;

bool timed_child_is_this(void)
{
	return current;
}

static void forget_ended(void)
{
	size_t left = 0, silent = 0;

	for (size_t i = 0; i < all.nleft; i++)
		if (waitpid(all.left[i], NULL, WNOHANG) == 0)
			all.left[left++] = all.left[i];
	all.nleft = left;
	for (size_t i = 0; i < all.nsilent; i++)
		if (sys_process_lives(all.silent[i].pid, all.silent[i].start))
			all.silent[silent++] = all.silent[i];
	all.nsilent = silent;
}

const struct timed_child_silent *timed_child_silents(size_t *n)
{
	forget_ended();
	*n = all.nsilent;
	return all.silent;
}

static bool is_silent(const char *who)
{
	return text_find(all.silent, all.nsilent, sizeof(*all.silent), who);
}

void timed_child_add_silent(const struct timed_child_silent *s)
{
	forget_ended();
	if (!is_silent(s->who) && all.nsilent < TIMED_CHILD_SILENT_MAX)
		all.silent[all.nsilent++] = *s;
}

/* libvirt reads our stdout and stderr to their end, so it would wait for a child that keeps them open. */
static void drop_standard(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int fd = 0; fd <= 2; fd++)
		if (null < 0 || dup2(null, fd) < 0)
			close(fd);
}

/* How long the parent may wait: at most BOUNDED_ANSWER_MS, because the child can begin a read that must end by then. */
static int left_ms(const struct job *job)
{
	int64_t asked = job->asked_ms + job->read_ms, met = job->met_ms + 2 * (int64_t)job->read_ms, left;

	left = (!job->reads ? job->began_ms + job->wait_ms : asked < met ? asked : met) - sys_now_ms();
	return left < BOUNDED_ANSWER_MS ? (int)left : BOUNDED_ANSWER_MS;
}

/* Abandons the child if its time is up during a call that can hang. */
static bool abandon_if_late(struct job *job, pid_t pid)
{
	struct timed_child_silent s = { .pid = pid, .start = sys_process_start(pid), .since_ms = job->asked_ms };
	int step = atomic_load(&job->step);
	struct arena *before;

	if (left_ms(job) > 0 || step % 2 == 0 || !atomic_compare_exchange_strong(&job->step, &step, LEFT))
		return false;
	memcpy(s.who, job->who, sizeof(s.who));
	if (job->reads)
		timed_child_add_silent(&s);
	before = mem_use(NULL);
	*(pid_t *)mem_add(&all.left, &all.nleft, sizeof(*all.left)) = pid;
	mem_use(before);
	return true;
}

/* True: the child has ended (or SIGCHLD is ignored, so that waitpid() fails). False: it was abandoned. */
static bool wait_for(struct job *job, pid_t pid)
{
	autoclose int fd = (int)syscall(SYS_pidfd_open, pid, 0); /* since Linux 5.3 */
	struct pollfd end = { .fd = fd, .events = POLLIN };
	int status = 0;

	do {
		int left = left_ms(job);

		poll(&end, 1, fd < 0 || left <= 0 ? STEP_MS : left);
		if (waitpid(pid, &status, WNOHANG) == 0)
			continue;
		if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_FAILURE)
			mem_out();
		return true;
	} while (!abandon_if_late(job, pid));
	return false;
}

static void end_arena(struct arena *const *arena)
{
	mem_arena_end(*arena);
}

#define autoarena __attribute__((cleanup(end_arena)))

static int start(bool looks, timed_child_work *work, void *arg, struct arena *arena, const int keep[3], int wait_ms,
		 int read_ms, struct err *err)
{
	autoarena struct arena *own = arena ? NULL : mem_arena(JOB_ROOM);
	struct job *job = mem_take(arena ? arena : own, sizeof(*job));
	pid_t pid;

	job->looks = looks;
	job->reads = looks;
	job->wait_ms = wait_ms;
	job->read_ms = read_ms;
	job->began_ms = sys_now_ms();
	job->asked_ms = job->began_ms;
	job->met_ms = job->began_ms;
	job->parent = getpid();
	forget_ended();
	pid = fork();
	if (pid < 0)
		return err_sys(err, errno, "fork");
	if (pid == 0) {
		drop_standard();
		sys_close_but(keep, 3);
		current = job;
		mem_use(arena);
		job->result = work(arg, &job->err);
		job->done = true;
		_exit(EXIT_SUCCESS);
	}
	if (!wait_for(job, pid)) {
		if (!job->reads)
			return err_set(err, ETIMEDOUT, "the kernel did not answer within %g s",
				       (wait_ms + 50 - (wait_ms + 50) % 100) / 1000.0);
		return err_set(err, looks ? ETIMEDOUT : EHOSTDOWN, "%s: its driver does not answer", job->who);
	}
	/* The child was killed during its work, so the outcome is unknown. */
	if (!job->done)
		return err_set(err, EINTR, "the process that accesses sysfs was killed");
	if (job->result < 0)
		*err = job->err;
	return job->result;
}

int timed_child_run(timed_child_work *work, void *arg, int root, const int locks[2], int wait_ms, int read_ms,
		    struct err *err)
{
	return start(false, work, arg, NULL, (const int[3]){ root, locks[0], locks[1] }, wait_ms, read_ms, err);
}

int timed_child_look(timed_child_work *work, void *arg, struct arena *arena, int root, int wait_ms, struct err *err)
{
	return start(true, work, arg, arena, (const int[3]){ root, -1, -1 }, wait_ms, wait_ms, err);
}

/* Begins a call that can hang. Ends the child if the parent was killed, because no process waits for the child. */
static void begin_call(struct job *job, bool reads)
{
	if (getppid() != job->parent)
		_exit(EXIT_SUCCESS);
	/* A later read has no limit of its own, because a write may have preceded it. */
	job->reads = job->looks || (reads && job->read_ms && job->step == 0);
	if (job->reads)
		job->asked_ms = sys_now_ms();
	atomic_fetch_add(&job->step, 1);
}

static void end_call(struct job *job)
{
	int step = atomic_load(&job->step);

	/* The time of the first read does not count toward the limit for all of the work. */
	if (job->reads && !job->looks)
		job->began_ms = sys_now_ms();
	if (step == LEFT || !atomic_compare_exchange_strong(&job->step, &step, step + 1))
		_exit(EXIT_SUCCESS);
}

static ssize_t ask(struct job *job, const char *who, int dir, const char *path, char *buf, size_t size)
{
	ssize_t r;

	if (is_silent(who))
		return -ETIMEDOUT;
	if (strcmp(job->who, who) != 0) {
		text_copy(job->who, sizeof(job->who), who);
		job->met_ms = sys_now_ms();
	}
	begin_call(job, true);
	r = buf ? sys_read(dir, path, buf, size) : sys_probe(dir, path);
	end_call(job);
	return r;
}

int timed_child_poke(int dir, const char *path, const char *data, size_t len)
{
	int r;

	if (current)
		begin_call(current, false);
	r = sys_poke(dir, path, data, len);
	if (current)
		end_call(current);
	return r;
}

/* A read that is not part of other work. */
struct single {
	const char *who, *path;
	int dir;
	char *buf; /* shared with the child */
	size_t size;
};

static int read_single(void *arg, struct err *err)
{
	const struct single *single = arg;

	(void)err;
	return (int)ask(current, single->who, single->dir, single->path, single->buf, single->size);
}

ssize_t timed_child_read(const char *who, int dir, const char *path, char *buf, size_t size)
{
	struct single single = { .who = who, .path = path, .dir = dir, .size = size };
	struct err err;
	int r;

	if (current)
		return ask(current, who, dir, path, buf, size);
	autoarena struct arena *arena = mem_arena(size + JOB_ROOM);
	if (buf)
		single.buf = mem_take(arena, size);
	r = timed_child_look(read_single, &single, arena, dir, BOUNDED_ANSWER_MS, &err);
	if (r >= 0 && buf)
		memcpy(buf, single.buf, (size_t)r + 1);
	return r;
}
