/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A process killed before one of its system calls. */
#include "model/crash/trace.h"

#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PIDS_MAX = 8 };

struct traced {
	pid_t pids[PIDS_MAX];
	int n;
};

static void forget(struct traced *t, pid_t pid)
{
	for (int i = 0; i < t->n; i++)
		if (t->pids[i] == pid)
			t->pids[i] = t->pids[--t->n];
}

static bool knows(struct traced *t, pid_t pid)
{
	for (int i = 0; i < t->n; i++)
		if (t->pids[i] == pid)
			return true;
	if (t->n < PIDS_MAX)
		t->pids[t->n++] = pid;
	return false;
}

/* Waits until all are gone; a child that was forked a moment ago is met here for the first time. */
static void reap(void)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, __WALL)) > 0)
		if (WIFSTOPPED(status))
			kill(pid, SIGKILL);
}

/* Can this system call change anything that is there after the process? */
static bool changes(const struct __ptrace_syscall_info *info)
{
	switch (info->entry.nr) {
	case SYS_openat:
		return info->entry.args[2] & O_CREAT;
	case SYS_write:
	case SYS_pwrite64:
	case SYS_mkdirat:
	case SYS_unlinkat:
	case SYS_renameat:
	case SYS_renameat2:
	case SYS_clone:
		return true;
	default:
		return false;
	}
}

bool trace_killed_at(void (*run)(const char *op, const char *xml), const char *op, const char *xml, int limit,
		     bool family, int *calls, int *first)
{
	long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL |
		       (family ? PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE : 0);
	struct traced t = { .n = 1 };
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		run(op, xml);
	}
	t.pids[0] = pid;
	waitpid(pid, &status, 0);
	ptrace(PTRACE_SETOPTIONS, pid, NULL, options);
	ptrace(PTRACE_SYSCALL, pid, NULL, NULL);
	*calls = *first = 0;
	while (t.n > 0 && (pid = waitpid(-1, &status, __WALL)) > 0) {
		int signal = 0;

		if (WIFEXITED(status) || WIFSIGNALED(status)) {
			forget(&t, pid);
			continue;
		}
		if (WSTOPSIG(status) == (SIGTRAP | 0x80)) {
			struct __ptrace_syscall_info info;

			ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof(info), &info);
			if (info.op == PTRACE_SYSCALL_INFO_ENTRY)
				++*calls;
			if (info.op == PTRACE_SYSCALL_INFO_ENTRY && !*first && changes(&info))
				*first = *calls;
			if (info.op == PTRACE_SYSCALL_INFO_ENTRY && *calls == limit) {
				for (int i = 0; i < t.n; i++)
					kill(t.pids[i], SIGKILL);
				reap();
				return true;
			}
		} else if (knows(&t, pid) && status >> 8 == WSTOPSIG(status) && WSTOPSIG(status) != SIGTRAP &&
			   WSTOPSIG(status) != SIGSTOP) {
			signal = WSTOPSIG(status);
		}
		ptrace(PTRACE_SYSCALL, pid, NULL, (void *)(long)signal);
	}
	return false;
}
