/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A process killed before one of its system calls. */
#include "model/crash/trace.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
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

/*
 * Whoever calls these changes nothing but itself: a kill before one of them leaves what a kill before the next call
 * leaves. (A lock ends with whoever has it.) Not mmap: what comes behind it may write to memory that is shared. What a
 * thread or a child does to end is among them also because its parent goes on beside it: the others have one order.
 */
static const unsigned int harmless[] = {
	SYS_brk,
	SYS_close,
	SYS_close_range,
	SYS_dup3,
#ifdef SYS_dup2
	SYS_dup2,
#endif
	SYS_exit,
	SYS_exit_group,
	SYS_faccessat,
	SYS_faccessat2,
	SYS_fcntl,
	SYS_fstat,
	SYS_futex,
	SYS_getdents64,
	SYS_geteuid,
	SYS_getpid,
	SYS_gettid,
	SYS_lseek,
	SYS_madvise,
	SYS_mprotect,
	SYS_munmap,
	SYS_newfstatat,
	SYS_pread64,
	SYS_read,
	SYS_readlinkat,
	SYS_rseq,
	SYS_rt_sigaction,
	SYS_rt_sigprocmask,
	SYS_sched_getaffinity,
	SYS_sched_setaffinity,
	SYS_set_robust_list,
	SYS_wait4,
};

/* The half of the third argument that open's flags are in. */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define OPEN_FLAGS offsetof(struct seccomp_data, args[2])
#else
#define OPEN_FLAGS (offsetof(struct seccomp_data, args[2]) + sizeof(__u32))
#endif

/* From here on this process stops before system calls that are not harmless, and before no other. */
static bool stop_at_changes(void)
{
	enum { N = sizeof(harmless) / sizeof(harmless[0]) };
	struct sock_filter code[N + 6];
	struct sock_fprog filter = { .len = 0, .filter = code };

	code[filter.len++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	for (unsigned int i = 0; i < N; i++)
		code[filter.len++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, harmless[i],
								  (unsigned char)(N - i + 3), 0);
	/* So is opening a file that exists, and stays as it is. */
	code[filter.len++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 2);
	code[filter.len++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, OPEN_FLAGS);
	code[filter.len++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, O_CREAT | O_TRUNC, 0, 1);
	code[filter.len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE);
	code[filter.len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
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

/* Does it stop because it is about to do a system call? */
static bool about_to_call(pid_t pid, int status, struct __ptrace_syscall_info *info)
{
	bool filtered = status >> 8 == (SIGTRAP | PTRACE_EVENT_SECCOMP << 8);

	if (!filtered && WSTOPSIG(status) != (SIGTRAP | 0x80))
		return false;
	ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof(*info), info);
	/* entry and seccomp begin alike. */
	return info->op == (filtered ? PTRACE_SYSCALL_INFO_SECCOMP : PTRACE_SYSCALL_INFO_ENTRY);
}

bool trace_killed_at(void (*run)(const char *op, const char *xml), const char *op, const char *xml, int limit,
		     enum trace_calls which, int *calls, int *first)
{
	long options = PTRACE_O_EXITKILL | PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACESECCOMP |
		       (which == TRACE_ALONE ? 0 : PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE);
	int go = which == TRACE_CHANGES ? PTRACE_CONT : PTRACE_SYSCALL;
	struct traced t = { .n = 1 };
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		if (which == TRACE_CHANGES && !stop_at_changes())
			_exit(126);
		run(op, xml);
	}
	t.pids[0] = pid;
	waitpid(pid, &status, 0);
	ptrace(PTRACE_SETOPTIONS, pid, NULL, options);
	ptrace(go, pid, NULL, NULL);
	*calls = *first = 0;
	while (t.n > 0 && (pid = waitpid(-1, &status, __WALL)) > 0) {
		struct __ptrace_syscall_info info;
		int signal = 0;

		if (WIFEXITED(status) || WIFSIGNALED(status)) {
			forget(&t, pid);
			continue;
		}
		if (about_to_call(pid, status, &info)) {
			++*calls;
			if (!*first && changes(&info))
				*first = *calls;
			if (*calls == limit) {
				for (int i = 0; i < t.n; i++)
					kill(t.pids[i], SIGKILL);
				reap();
				return true;
			}
		} else if (knows(&t, pid) && status >> 8 == WSTOPSIG(status) && WSTOPSIG(status) != SIGTRAP &&
			   WSTOPSIG(status) != SIGSTOP && WSTOPSIG(status) != (SIGTRAP | 0x80)) {
			signal = WSTOPSIG(status);
		}
		ptrace(go, pid, NULL, (void *)(long)signal);
	}
	return false;
}
