/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Simulated processes: coroutines, one of which runs at a time.
 *
 * The program's own code runs in them. Each call of it that touches the world outside is a point: there a seed decides
 * who goes on, how much time passes, and whether the process is killed. A killed process frees nothing and undoes
 * nothing; its locks end unless a child has them, too.
 *
 * A history is one real process with one seed: what is wrong ends it (broken()). The clock is virtual. The files are
 * real ones, in a directory of their own; locks are the real ones of these files, as each process has descriptors of
 * its own.
 */
#pragma once

#include <stdint.h>
#include <ucontext.h>

#include "sys/timed_child.h"

enum { LOCKS_MAX = 16, PROCESSES_MAX = 6000, SILENT_MAX = 8 };

#define FOREVER INT64_MAX

struct process {
	int pid;
	char what[64];
	void (*main)(void *arg);
	void *arg;
	struct process *parent; /* of a child; NULL: the world started it */
	int64_t began_ms, ended_ms;
	bool mortal; /* a seed may kill it */
	bool ended;
	bool bereft;     /* a child of it was killed */
	int children;    /* that have not ended */
	bool dying;      /* killed in the kernel: it ends when that call returns */
	int in_kernel;   /* such a call is under way */
	int status;      /* of exit */
	unsigned events; /* grows whenever somebody who waits for this process should look */
	struct job *job; /* of a timed child (children.c) */
	struct timed_child_silent silent[SILENT_MAX];
	int nsilent;
	struct {
		int fd, from; /* `from`: the parent's descriptor, which this one is a copy of */
	} locks[LOCKS_MAX];
	int nlocks;
	ucontext_t context;
	struct arena *arena;
	int code; /* errno */
	/* when it goes on */
	int64_t until_us;
	const unsigned *event;
	unsigned seen;
};

/* The process that runs; NULL: the world itself. */
extern struct process *self;
extern long steps; /* points passed */

void chance_seed(uint64_t seed);
int pick(int n); /* 0 to n - 1 */
/* True once in n times; never if n is 0. */
bool once_in(int n);

/* What a seed has decided for the whole history; 0: never. */
struct profile {
	int kill;      /* once in so many points a mortal process is killed */
	int swap;      /* once in so many points another process goes on */
	int slow;      /* once in so many calls a driver is slow; it fails or hangs less often */
	bool fails;    /* drivers fail and hang, too */
	int pace;      /* most naps are this long at most, in ms: how much happens at once */
	bool restarts; /* libvirtd is killed, and started again */
	bool handler, nova;
};
extern struct profile profile;

extern int64_t now_us;
int64_t now_ms(void);

struct process *process_start(const char *what, void (*main)(void *arg), void *arg);
/* A child, which has copies of its parent's locks. */
struct process *process_child(const char *what, void (*main)(void *arg), void *arg);
__attribute__((noreturn)) void process_end(int status);
void process_kill(struct process *p);
struct process *process_find(int pid);
struct process *process_first(void); /* one that has not ended; NULL: none */

/* Does the parent of this timed child still wait for it? */
bool child_is_awaited(void);

/* A point. Returns at once inside of quiet calls: what the world does is one step. */
void point(void);
extern int quiet;

/* Sleeps until then, or until *event changes (NULL: nothing to wait for). */
void pause_until(int64_t until_us, const unsigned *event);
void nap_ms(int64_t ms);
/* At most so long; mostly at most the history's pace. */
void nap_some(int most_ms);
void await(struct process *p);

/* Goes on until nobody can, or until `enough` passed points; false: somebody waits for what never comes. */
bool run_until(bool (*done)(void), long enough);

/* Locks: `fd` holds one now; it is closed; the child lets all but the copies of `from` go. */
void lock_taken(int fd);
void lock_closed(int fd);
void lock_keep(const int *from, int n);
extern unsigned lock_events; /* grows whenever a lock may have ended */

/* The history's words, printed if it is broken. */
void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
__attribute__((noreturn)) void broken(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
extern const char *tell; /* prints them as they are said, not only then */
