/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Coroutines: who goes on, who is killed, and what time it is. */
#include "model/simulation/processes.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

enum { STACK = 256 << 10, GUARD = 4096, WORDS = 60, WORD = 300 };

struct process *self;
long steps;
int64_t now_us = 1000000000;
unsigned lock_events;
int quiet;
const char *tell;
struct profile profile;

static struct process *all[PROCESSES_MAX], *alive[PROCESSES_MAX];
static int nall, nalive;
static ucontext_t world;
static uint64_t dice;
static char words[WORDS][WORD];
static long nwords;

int __real_close(int fd);

void chance_seed(uint64_t seed)
{
	dice = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
	for (int i = 0; i < 8; i++)
		pick(2);
}

int pick(int n)
{
	dice ^= dice << 13;
	dice ^= dice >> 7;
	dice ^= dice << 17;
	return (int)((dice >> 11) % (uint64_t)n);
}

bool once_in(int n)
{
	return n && pick(n) == 0;
}

int64_t now_ms(void)
{
	return now_us / 1000;
}

void say(const char *fmt, ...)
{
	char *word = words[nwords++ % WORDS];
	int n = snprintf(word, WORD, "%9.3f %d %s: ", (double)now_us / 1e6 - 1000, self ? self->pid : 0,
			 self ? self->what : "world");
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(word + n, (size_t)(WORD - n), fmt, ap);
	va_end(ap);
	if (tell)
		printf("# %s\n", word);
}

void broken(const char *fmt, ...)
{
	va_list ap;

	for (long i = nwords > WORDS ? nwords - WORDS : 0; i < nwords && !tell; i++)
		printf("# %s\n", words[i % WORDS]);
	printf("# broken at %.3f, step %ld, by %s: ", (double)now_us / 1e6 - 1000, steps, self ? self->what : "world");
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
	fflush(stdout);
	quick_exit(1);
}

/* It stays as it is for as long as the history: a child that outlives a killed parent has its argument there. */
static char *stack_new(void)
{
	char *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (stack == MAP_FAILED || mprotect(stack, GUARD, PROT_NONE) < 0)
		abort();
	return stack;
}

static struct process *add(const char *what)
{
	struct process *p = calloc(1, sizeof(*p));

	if (nall == PROCESSES_MAX)
		broken("more than %d processes", PROCESSES_MAX);
	p->pid = 100 + nall;
	all[nall++] = alive[nalive++] = p;
	snprintf(p->what, sizeof(p->what), "%s", what);
	p->began_ms = now_ms();
	return p;
}

static void begin(void)
{
	self->main(self->arg);
	process_end(0);
}

struct process *process_start(const char *what, void (*main)(void *arg), void *arg)
{
	struct process *p = add(what);

	p->main = main;
	p->arg = arg;
	getcontext(&p->context);
	p->context.uc_stack.ss_sp = stack_new();
	p->context.uc_stack.ss_size = STACK;
	makecontext(&p->context, begin, 0);
	return p;
}

static void inherit(struct process *p)
{
	for (int i = 0; i < self->nlocks; i++) {
		p->locks[i].from = self->locks[i].fd;
		p->locks[i].fd = fcntl(self->locks[i].fd, F_DUPFD_CLOEXEC, 3);
	}
	p->nlocks = self->nlocks;
	memcpy(p->silent, self->silent, sizeof(p->silent));
	p->nsilent = self->nsilent;
}

struct process *process_child(const char *what, void (*main)(void *arg), void *arg)
{
	struct process *p = process_start(what, main, arg);

	p->parent = self;
	self->children++;
	inherit(p);
	return p;
}

static void go_on(struct process *p)
{
	p->event = NULL;
	self = p;
	mem_use(p->arena);
	errno = p->code;
	swapcontext(&world, &p->context);
	self = NULL;
}

static void leave_it(void)
{
	self->code = errno;
	self->arena = mem_use(NULL);
	swapcontext(&self->context, &world);
}

static void drop_locks(struct process *p)
{
	while (p->nlocks > 0)
		__real_close(p->locks[--p->nlocks].fd);
	lock_events++;
}

static void finish(struct process *p)
{
	p->ended = true;
	p->ended_ms = now_ms();
	p->events++;
	if (p->parent) {
		p->parent->events++;
		p->parent->children--;
	}
	drop_locks(p);
	for (int i = 0; i < nalive; i++)
		if (alive[i] == p)
			alive[i] = alive[--nalive];
}

void process_end(int status)
{
	self->status = status;
	mem_use(NULL);
	finish(self);
	setcontext(&world);
	abort();
}

void process_kill(struct process *p)
{
	if (p->ended)
		return;
	if (p->in_kernel) {
		p->dying = true;
		return;
	}
	if (p->parent)
		p->parent->bereft = true;
	say("process %d (%s) is killed", p->pid, p->what);
	finish(p);
	if (p == self) {
		mem_use(NULL);
		setcontext(&world);
	}
}

struct process *process_find(int pid)
{
	return pid >= 100 && pid < 100 + nall ? all[pid - 100] : NULL;
}

struct process *process_first(void)
{
	return nalive ? alive[0] : NULL;
}

void point(void)
{
	int code = errno;

	if (!self || quiet)
		return;
	steps++;
	now_us += pick(64) ? pick(80) : pick(3000);
	if (self->dying && !self->in_kernel)
		process_kill(self);
	if (self->mortal && once_in(profile.kill))
		process_kill(self);
	if (once_in(profile.swap)) {
		self->until_us = 0;
		leave_it();
	}
	errno = code;
}

void pause_until(int64_t until_us, const unsigned *event)
{
	self->until_us = until_us;
	self->event = event;
	self->seen = event ? *event : 0;
	leave_it();
}

void nap_ms(int64_t ms)
{
	pause_until(now_us + ms * 1000, NULL);
}

void nap_some(int most_ms)
{
	bool paced = pick(4) && profile.pace < most_ms;

	nap_ms(pick(paced ? profile.pace : most_ms));
}

void await(struct process *p)
{
	while (!p->ended)
		pause_until(FOREVER, &p->events);
}

static bool is_ready(const struct process *p)
{
	return p->until_us <= now_us || (p->event && *p->event != p->seen);
}

static struct process *choose(void)
{
	struct process *found = NULL;
	int n = 0;

	for (int i = 0; i < nalive; i++)
		if (is_ready(alive[i]) && pick(++n) == 0)
			found = alive[i];
	return found;
}

bool run_until(bool (*done)(void), long enough)
{
	for (enough += steps; !done() && steps < enough;) {
		struct process *p = choose();
		int64_t next = FOREVER;

		for (int i = 0; !p && i < nalive; i++)
			if (alive[i]->until_us < next)
				next = alive[i]->until_us;
		if (!p && next == FOREVER)
			return false;
		if (p)
			go_on(p);
		else
			now_us = next;
	}
	return done();
}

void lock_taken(int fd)
{
	if (!self)
		return;
	for (int i = 0; i < self->nlocks; i++)
		if (self->locks[i].fd == fd)
			return;
	if (self->nlocks == LOCKS_MAX)
		broken("process %d holds more than %d locks", self->pid, LOCKS_MAX);
	self->locks[self->nlocks].from = -1;
	self->locks[self->nlocks++].fd = fd;
}

void lock_closed(int fd)
{
	for (int i = 0; self && i < self->nlocks; i++)
		if (self->locks[i].fd == fd) {
			self->locks[i] = self->locks[--self->nlocks];
			lock_events++;
		}
}

void lock_keep(const int *from, int n)
{
	for (int i = 0; i < self->nlocks;) {
		bool keep = false;

		for (int k = 0; k < n; k++)
			keep |= self->locks[i].from == from[k] && from[k] >= 0;
		if (keep) {
			i++;
		} else {
			__real_close(self->locks[i].fd);
			self->locks[i] = self->locks[--self->nlocks];
		}
	}
	lock_events++;
}
