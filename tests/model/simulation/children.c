/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* sys/timed_child.h with simulated processes. An abandoned child uses nothing that it shares with its parent. */
#include "base/text.h"
#include "model/simulation/driver.h"
#include "model/simulation/processes.h"

enum { STEP_US = 10000 };

struct job {
	timed_child_work *work;
	void *arg;
	struct arena *arena;
	int locks[2];
	bool looks, reads, asking, left, done;
	int calls;
	int64_t wait_us, read_us, began_us, asked_us, met_us;
	char who[PARENT_SIZE];
	int result;
	struct err err;
};

static struct job *current(void)
{
	return self ? self->job : NULL;
}

bool timed_child_is_this(void)
{
	return current();
}

static void forget_ended(void)
{
	int n = 0;

	for (int i = 0; i < self->nsilent; i++)
		if (sys_process_lives(self->silent[i].pid, self->silent[i].start))
			self->silent[n++] = self->silent[i];
	self->nsilent = n;
}

const struct timed_child_silent *timed_child_silents(size_t *n)
{
	*n = 0;
	if (!self)
		return NULL;
	forget_ended();
	*n = (size_t)self->nsilent;
	return self->silent;
}

static bool is_silent(const char *who)
{
	for (int i = 0; i < self->nsilent; i++)
		if (strcmp(self->silent[i].who, who) == 0)
			return true;
	return false;
}

void timed_child_add_silent(const struct timed_child_silent *s)
{
	if (self && !is_silent(s->who) && self->nsilent < SILENT_MAX)
		self->silent[self->nsilent++] = *s;
}

static int64_t left_us(const struct job *job)
{
	int64_t asked = job->asked_us + job->read_us, met = job->met_us + 2 * job->read_us;

	return (!job->reads ? job->began_us + job->wait_us : asked < met ? asked : met) - now_us;
}

static bool leave(struct job *job, const struct process *child)
{
	struct timed_child_silent s = { .pid = child->pid,
					.start = (uint64_t)child->pid,
					.since_ms = job->asked_us / 1000 };

	if (left_us(job) > 0 || !job->asking)
		return false;
	job->left = true;
	memcpy(s.who, job->who, sizeof(s.who));
	if (job->reads)
		timed_child_add_silent(&s);
	say("abandons its child %d", child->pid);
	return true;
}

static void child_main(void *arg)
{
	struct job *job = self->job = arg;

	self->mortal = self->parent->mortal;
	point();
	lock_keep(job->locks, 2);
	mem_use(job->arena);
	job->result = job->work(job->arg, &job->err);
	job->done = true;
}

/* `job` stays for as long as the history: its child may outlive everybody. */
static int run(struct job *job, struct err *err)
{
	struct process *child;

	forget_ended();
	job->result = 1;
	job->began_us = job->asked_us = job->met_us = now_us;
	child = process_child(job->looks ? "a reader" : "a writer", child_main, job);
	snprintf(child->what, sizeof(child->what), "%s of %d", job->looks ? "a reader" : "a writer", self->pid);
	point();
	while (!child->ended) {
		int64_t left = left_us(job);

		if (leave(job, child) && job->reads)
			return err_set(err, job->looks ? ETIMEDOUT : EHOSTDOWN, "%s: its driver does not answer",
				       job->who);
		if (job->left)
			return err_set(err, ETIMEDOUT, "the kernel did not answer within %g s",
				       (double)job->wait_us / 1e6);
		pause_until(now_us + (left > 0 ? left : STEP_US), &child->events);
		point();
	}
	if (!job->done)
		return err_set(err, EINTR, "the process that accesses sysfs was killed");
	if (job->result < 0)
		*err = job->err;
	return job->result;
}

static int start(bool looks, timed_child_work *work, void *arg, struct arena *arena, const int locks[2], int wait_ms,
		 int read_ms, struct err *err)
{
	struct job *job = calloc(1, sizeof(*job));

	*job = (struct job){ .work = work,
			     .arg = arg,
			     .arena = arena,
			     .locks = { locks[0], locks[1] },
			     .looks = looks,
			     .reads = looks,
			     .read_us = (int64_t)read_ms * 1000,
			     .wait_us = (int64_t)wait_ms * 1000 };
	/* The world itself looks at nothing that can hang. */
	return self ? run(job, err) : work(arg, err);
}

int timed_child_run(timed_child_work *work, void *arg, int root, const int locks[2], int wait_ms, int read_ms,
		    struct err *err)
{
	return start(false, work, arg, NULL, locks, wait_ms, read_ms, err);
}

int timed_child_look(timed_child_work *work, void *arg, struct arena *arena, int root, int wait_ms, struct err *err)
{
	return start(true, work, arg, arena, (const int[2]){ -1, -1 }, wait_ms, wait_ms, err);
}

/* A call that can hang. If the parent was killed, nobody waits for it any more. */
static void begin_call(struct job *job, bool reads)
{
	if (self->parent->ended)
		process_end(EXIT_SUCCESS);
	job->reads = job->looks || (reads && job->read_us && !job->calls);
	job->calls++;
	if (job->reads)
		job->asked_us = now_us;
	job->asking = true;
	self->events++;
}

static void end_call(struct job *job)
{
	if (job->left)
		process_end(EXIT_SUCCESS);
	if (job->reads && !job->looks)
		job->began_us = now_us;
	job->asking = false;
	point();
}

static ssize_t ask(struct job *job, const char *who, int dir, const char *path, char *buf, size_t size)
{
	if (is_silent(who))
		return -ETIMEDOUT;
	if (strcmp(job->who, who) != 0) {
		text_copy(job->who, sizeof(job->who), who);
		job->met_us = now_us;
	}
	begin_call(job, true);
	driver_ask(who, job->looks);
	end_call(job);
	return buf ? sys_read(dir, path, buf, size) : sys_probe(dir, path);
}

bool child_is_awaited(void)
{
	return current() && !current()->left && !self->parent->ended;
}

int timed_child_poke(int dir, const char *path, const char *data, size_t len)
{
	int r;

	if (current())
		begin_call(current(), false);
	r = driver_write(path, data);
	if (current())
		end_call(current());
	return r;
}

struct single {
	const char *who, *path;
	int dir;
	size_t size;
	ssize_t r;
	char text[];
};

static int read_single(void *arg, struct err *err)
{
	struct single *s = arg;

	s->r = ask(current(), s->who, s->dir, s->path, s->size ? s->text : NULL, s->size);
	return 0;
}

ssize_t timed_child_read(const char *who, int dir, const char *path, char *buf, size_t size)
{
	struct single *single;
	struct err err;
	ssize_t r;

	if (!self)
		return buf ? sys_read(dir, path, buf, size) : sys_probe(dir, path);
	if (current())
		return ask(current(), who, dir, path, buf, size);
	single = calloc(1, sizeof(*single) + size);
	*single = (struct single){ .who = who, .path = path, .dir = dir, .size = size };
	r = timed_child_look(read_single, single, NULL, dir, BOUNDED_ANSWER_MS, &err);
	if (r == 0 && (r = single->r) >= 0 && buf)
		memcpy(buf, single->text, (size_t)r + 1);
	return r;
}
