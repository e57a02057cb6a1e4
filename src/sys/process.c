/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The clock, sleep, other processes, and a child whose crash does no harm. */
#include "sys/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"

static int64_t clock_ms(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int64_t sys_now_ms(void)
{
	return clock_ms(CLOCK_MONOTONIC);
}

int64_t sys_age_ms(const struct timespec *wall)
{
	int64_t age_ms = clock_ms(CLOCK_REALTIME) - ((int64_t)wall->tv_sec * 1000 + wall->tv_nsec / 1000000);

	return age_ms > 0 ? age_ms : 0;
}

int64_t sys_wall_ms(int64_t ms)
{
	return clock_ms(CLOCK_REALTIME) - (sys_now_ms() - ms);
}

int sys_left_ms(int64_t deadline_ms)
{
	int64_t ms = deadline_ms - sys_now_ms();

	return ms <= 0 ? 0 : ms < INT_MAX ? (int)ms : INT_MAX;
}

void sys_boot_id(char out[UUID_SIZE])
{
	static char known[UUID_SIZE];
	char text[UUID_SIZE + 1];

	if (!*known &&
	    (sys_read(AT_FDCWD, "/proc/sys/kernel/random/boot_id", text, sizeof(text)) < 0 || !uuid_parse(known, text)))
		snprintf(known, sizeof(known), "00000000-0000-0000-0000-000000000000");
	memcpy(out, known, sizeof(known));
}

void sys_sleep_ms(int ms)
{
	struct timespec t = { .tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000 };

	while (nanosleep(&t, &t) < 0 && errno == EINTR)
		;
}

struct process {
	char state;
	unsigned int flags;
	uint64_t start; /* clock ticks since boot */
};

static struct process process_stat(pid_t pid)
{
	struct process process = { 0 };
	char path[32], stat[1024];
	const char *s;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if (pid <= 0 || sys_read(AT_FDCWD, path, stat, sizeof(stat)) < 0)
		return process;
	/* The second field, the command's name in parentheses, can contain any character, even ')'. */
	s = strrchr(stat, ')');
	if (!s || sscanf(s, ") %c %*s %*s %*s %*s %*s %u %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %" SCNu64,
			 &process.state, &process.flags, &process.start) != 3)
		return (struct process){ 0 };
	return process;
}

uint64_t sys_process_start(pid_t pid)
{
	static pid_t own;
	static uint64_t own_start;

	if (pid != getpid())
		return process_stat(pid).start;
	/* Every lock and lease records it. A forked child has another PID. */
	if (pid != own) {
		own = pid;
		own_start = process_stat(pid).start;
	}
	return own_start;
}

bool sys_process_lives(pid_t pid, uint64_t start)
{
	struct process now = process_stat(pid);

	/* A zombie has ended. It can remain for ever in a container that has no reaper. */
	return start != 0 && now.start == start && now.state != 'Z' && now.state != 'X';
}

bool sys_process_exits(pid_t pid)
{
	enum { PF_EXITING = 4 }; /* Linux: include/linux/sched.h */

	return process_stat(pid).flags & PF_EXITING;
}

static pid_t find_taker(const struct stat *lock)
{
	autofclose FILE *locks = fopen("/proc/locks", "re");
	unsigned int major_, minor_;
	unsigned long long inode;
	char line[128];
	int pid;

	/* A process that waits has "->" before the kind. */
	while (locks && fgets(line, sizeof(line), locks))
		if (sscanf(line, "%*d: FLOCK %*s %*s %d %x:%x:%llu", &pid, &major_, &minor_, &inode) == 4 &&
		    inode == lock->st_ino && makedev(major_, minor_) == lock->st_dev)
			return pid;
	return 0;
}

pid_t sys_lock_taker(int dir, const char *path)
{
	struct stat st;
	pid_t taker = 0;

	if (fstatat(dir, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	/* The kernel lists the locks in pieces, and can leave out one if the list changes meanwhile. */
	for (int tries = 0; !taker && tries < 3; tries++)
		taker = find_taker(&st);
	return taker;
}

/* The child sends the length before the data: without it, data that end with a crash would seem whole. */
int sys_guarded_give(int parent, const char *data, size_t len)
{
	int answer = -EPIPE;

	if (sys_write_all(parent, (const char *)&len, sizeof(len)) == 0 && sys_write_all(parent, data, len) == 0 &&
	    shutdown(parent, SHUT_WR) == 0)
		(void)!read(parent, &answer, sizeof(answer));
	return answer;
}

static void print_given(int child)
{
	autofree char *given = NULL;
	size_t got = 0, len;
	int answer;

	if (sys_slurp(child, SIZE_MAX, &given, &got) < 0 || got < sizeof(len))
		return;
	memcpy(&len, given, sizeof(len));
	if (len != got - sizeof(len))
		return;
	answer = sys_write_all(STDOUT_FILENO, given + sizeof(len), len);
	(void)!write(child, &answer, sizeof(answer));
}

int sys_guard(int *status)
{
	int ends[2];
	pid_t pid;

	*status = 0;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return -1;
	pid = fork();
	close(ends[pid == 0 ? 0 : 1]);
	if (pid == 0)
		return ends[1];
	if (pid > 0)
		print_given(ends[0]);
	close(ends[0]);
	if (pid < 0)
		return -1;
	waitpid(pid, status, 0);
	return SYS_GUARD_ENDED;
}
