/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A pass of the device handler in a process of its own. */
#include "daemon/device_handler.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/libvirt_daemon.h"
#include "sys/log.h"

enum {
	ASKING_MS = 5000,      /* how long to wait for libvirt once another pass is due */
	LATE_S = 120,          /* longer than a pass takes to look through all processes */
	ARENA_SIZE = 16 << 20, /* the limit of what a pass leaves; untouched pages cost nothing */
};

/* Copies to the arena in use, or to the heap. */
static void copy(struct remembered *to, const struct remembered *from)
{
	*to = *from;
	to->seen = (struct lease_marks){ 0 };
	for (size_t i = 0; i < from->seen.n; i++)
		*(struct lease_mark *)mem_add(&to->seen.list, &to->seen.n, sizeof(*to->seen.list)) = from->seen.list[i];
	to->reported = from->reported ? mem_strdup(from->reported) : NULL;
	/* A connection cannot be used by another process. */
	to->guests.virt = NULL;
	to->guests.tried = false;
	to->guests.asking_ms = NULL;
}

static void leave(void *arg, const struct remembered *last)
{
	const struct pass *pass = arg;
	struct remembered *left = mem_take(pass->arena, sizeof(*left));

	mem_use(pass->arena);
	copy(left, last);
	mem_use(NULL);
	*pass->left = left;
}

/* Runs in the new process, which must not keep the handler's lock: if it hung, it would look like a handler. */
static _Noreturn void run(struct pass *pass, struct handler *h, int end, pid_t parent)
{
	const int keep[] = { h->host.root, h->host.libvirt, end };
	sigset_t none;

	signal(SIGHUP, SIG_IGN);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(1);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	sys_close_but(keep, 3);
	h->last.guests.asking_ms = pass->asking_ms;
	h->leave = leave;
	h->leave_arg = pass;
	handler_pass(h);
	log_close();
	_exit(0);
}

static int launch(struct pass *pass, struct handler *h, struct err *err)
{
	pid_t self = getpid();
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_sys(err, errno, "pipe");
	pass->arena = mem_arena(ARENA_SIZE);
	pass->left = mem_take(pass->arena, sizeof(*pass->left));
	pass->asking_ms = mem_take(pass->arena, sizeof(*pass->asking_ms));
	pass->late_ms = sys_now_ms() + (int64_t)LATE_S * 1000;
	pass->end = ends[0];
	/* The child must open its own log socket. */
	log_close();
	pass->pid = fork();
	if (pass->pid == 0)
		run(pass, h, ends[1], self);
	close(ends[1]);
	if (pass->pid > 0)
		return 0;
	err_sys(err, errno, "fork");
	pass->pid = 0;
	pass_stop(pass);
	return -err->code;
}

bool pass_start(struct pass *pass, struct handler *h)
{
	struct err err;
	bool started;

	/* Do this before the fork, because the loop also searches libvirt's processes and watches its files. */
	libvirt_daemon_follow(&h->host);
	started = handler_hold_lock(h, &err) == 0 && launch(pass, h, &err) == 0;
	if (!started)
		handler_pass_failed(h, err.text);
	return started;
}

void pass_stop(struct pass *pass)
{
	if (pass->pid) {
		kill(pass->pid, SIGKILL);
		waitpid(pass->pid, NULL, 0);
	}
	if (pass->arena) {
		close(pass->end);
		mem_arena_end(pass->arena);
	}
	*pass = (struct pass){ .end = -1 };
}

int64_t pass_late_ms(const struct pass *pass, int64_t next_ms)
{
	const struct remembered *left = *pass->left;
	int64_t asked = *pass->asking_ms ? *pass->asking_ms + ASKING_MS : pass->late_ms;

	if (left && left->next_ms < next_ms)
		next_ms = left->next_ms;
	asked = asked > next_ms ? asked : next_ms;
	return asked < pass->late_ms ? asked : pass->late_ms;
}

int64_t pass_end(struct pass *pass, struct handler *h)
{
	struct pollfd end = { .fd = pass->end, .events = POLLIN };
	const struct remembered *left;
	struct rusage took = { 0 };
	bool late = poll(&end, 1, 0) == 0;
	int status = -1;

	if (late)
		kill(pass->pid, SIGKILL);
	wait4(pass->pid, &status, 0, &took);
	pass->pid = 0;
	left = *pass->left;
	if (left) {
		free(h->last.reported);
		lease_marks_free(&h->last.seen);
		copy(&h->last, left);
	}
	if (late && *pass->asking_ms && left)
		guests_set_state(
			&h->last.guests, false,
			"not connected to libvirt: no answer within 5 s; check that libvirtd or virtqemud does not hang");
	else if (late)
		handler_pass_failed(h, "it is not done after two minutes");
	else if (status != 0)
		handler_pass_failed(h, WIFSIGNALED(status) ? "its process was killed" : "its process failed");
	pass_stop(pass);
	return (took.ru_utime.tv_sec + took.ru_stime.tv_sec) * 1000 +
	       (took.ru_utime.tv_usec + took.ru_stime.tv_usec) / 1000;
}
