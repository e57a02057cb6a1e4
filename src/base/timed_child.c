/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Writes to the kernel that may never come back, with a bound on the wait for each. */
#include "base/timed_child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "internal.h"
#include "base/host.h"

enum { ABANDONED_MAX = 256 };

static bool is_child;

/*
 * Children that we gave up waiting for, until they are collected: a kernel that hangs leaves one for each pGPU at
 * most.
 */
static pid_t abandoned[ABANDONED_MAX];

static void abandon(pid_t pid)
{
	for (size_t i = 0; i < ABANDONED_MAX; i++) {
		if (abandoned[i] != 0)
			continue;
		abandoned[i] = pid;
		return;
	}
}

void timed_child_reap(void)
{
	for (size_t i = 0; i < ABANDONED_MAX; i++)
		if (abandoned[i] != 0 && waitpid(abandoned[i], NULL, WNOHANG) != 0)
			abandoned[i] = 0;
}

bool timed_child_is_child(void)
{
	return is_child;
}

void timed_child_drop_standard(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int fd = 0; fd <= 2; fd++)
		if (null < 0 || dup2(null, fd) < 0)
			close(fd);
}

static void child(int (*work)(void *arg, struct err *err), void *arg, int out)
{
	struct err err = { 0 };
	int r;

	is_child = true;
	timed_child_drop_standard();
	signal(SIGPIPE, SIG_IGN);
	r = work(arg, &err);
	err.code = r < 0 ? -r : 0;
	/* Smaller than a pipe's buffer: it never blocks, and comes whole. */
	_exit(write(out, &err, sizeof(err)) == (ssize_t)sizeof(err) ? 0 : 1);
}

int timed_child_run(int (*work)(void *arg, struct err *err), void *arg, int wait_ms, struct err *err)
{
	int64_t end = host_now_ms() + wait_ms;
	struct pollfd ready;
	struct err result;
	int fds[2], left;
	ssize_t n;
	pid_t pid;

	_Static_assert(sizeof(struct err) <= 8192, "an error must fit into a pipe's buffer");
	if (pipe2(fds, O_CLOEXEC) < 0)
		return err_sys(err, errno, "pipe");
	pid = fork();
	if (pid == 0)
		child(work, arg, fds[1]);
	close(fds[1]);
	autoclose int in = fds[0];
	if (pid < 0)
		return err_sys(err, errno, "fork");
	ready = (struct pollfd){ .fd = in, .events = POLLIN };
	do {
		left = (int)(end - host_now_ms());
	} while (poll(&ready, 1, left > 0 ? left : 0) < 0 && errno == EINTR);
	if (!ready.revents) {
		abandon(pid);
		return err_set(err, ETIMEDOUT, "the kernel did not answer within %g s",
			       (wait_ms + 50 - (wait_ms + 50) % 100) / 1000.0);
	}
	n = read(in, &result, sizeof(result));
	waitpid(pid, NULL, 0);
	if (n != (ssize_t)sizeof(result))
		return err_set(err, EINTR, "the process that wrote to the kernel was killed");
	if (result.code)
		*err = result;
	return -result.code;
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
	timed_child_drop_standard();
	for (int fd = 3; fd < 64; fd++)
		if (fd != keep)
			close(fd);
	return 1;
}
