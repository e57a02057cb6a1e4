/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* no_inotify instances|watches PROGRAM [ARGUMENT...]: runs it as if all instances or watches of its user were taken. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static int deny(unsigned int call, unsigned int code)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | code),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = sizeof(filter) / sizeof(*filter), .filter = filter };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

int main(int argc, char **argv)
{
	int r;

	if (argc < 3)
		return 2;
	r = strcmp(argv[1], "instances") == 0 ? deny(__NR_inotify_init1, EMFILE) : deny(__NR_inotify_add_watch, ENOSPC);
	if (r == 0)
		execv(argv[2], argv + 2);
	perror("no_inotify");
	return 1;
}
