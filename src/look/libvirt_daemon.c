/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Finds libvirt's daemon and QEMUs. */
#include "look/libvirt_daemon.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/text.h"

/* Is this process libvirtd or virtqemud, and does it run as root? */
static bool is_daemon(pid_t pid, char comm[LIBVIRT_COMM_SIZE])
{
	char path[32];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	if (stat(path, &st) < 0 || st.st_uid != 0)
		return false;
	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	return sys_read(AT_FDCWD, path, comm, LIBVIRT_COMM_SIZE) > 0 &&
	       (strcmp(comm, "libvirtd") == 0 || strcmp(comm, "virtqemud") == 0);
}

pid_t libvirt_read_pid(int dir, const char *path)
{
	char text[32];
	ssize_t n = sys_read(dir, path, text, sizeof(text));
	long pid;

	if (n < 0)
		return (pid_t)n;
	return text_number(text, 1, INT32_MAX, &pid) ? (pid_t)pid : 0;
}

pid_t libvirt_daemon(const struct host *host, char comm[LIBVIRT_COMM_SIZE])
{
	static const char *const files[] = { "run/libvirt/qemu/driver.pid", "run/libvirtd.pid", "run/virtqemud.pid" };
	bool denied = false;

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		pid_t pid = libvirt_read_pid(host->root, files[i]);

		denied |= pid == -EACCES;
		if (pid > 0 && is_daemon(pid, comm))
			return pid;
	}
	return denied ? -1 : 0;
}

int64_t libvirt_age_us(pid_t pid)
{
	int64_t ticks = (int64_t)sys_process_start(pid), per_s = 1000000;
	struct timespec up;

	/* The start time of a process counts time in suspend, as CLOCK_BOOTTIME does. */
	clock_gettime(CLOCK_BOOTTIME, &up);
	return up.tv_sec * per_s + up.tv_nsec / 1000 - ticks * per_s / sysconf(_SC_CLK_TCK);
}

bool libvirt_is_younger(const struct host *host, int64_t than_ms)
{
	char comm[LIBVIRT_COMM_SIZE];
	pid_t pid = than_ms ? libvirt_daemon(host, comm) : 0;

	return pid > 0 && libvirt_age_us(pid) / 1000 < sys_now_ms() - than_ms;
}

void libvirt_daemon_follow(struct host *host)
{
	char comm[LIBVIRT_COMM_SIZE], path[32];
	pid_t pid = *host->name ? 0 : libvirt_daemon(host, comm);
	int root = -1;

	if (pid > 0) {
		snprintf(path, sizeof(path), "/proc/%d/root", (int)pid);
		root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	}
	if (host->libvirt != host->root)
		close(host->libvirt);
	host->libvirt = root < 0 ? host->root : root;
}

/*
 * Is this the control group of a QEMU machine? With systemd, the path ends in machine-qemu\x2d1\x2dvm1.scope below
 * slices. Without systemd, the path ends in qemu-1-vm1.libvirt-qemu below machine or partitions. Groups in user.slice
 * or below other groups do not count, because users can create them.
 */
static bool is_machine(char *path)
{
	char *name;

	while ((name = strsep(&path, "/"))) {
		const char *dot = strrchr(name, '.');

		if (strcmp(name, "user.slice") == 0)
			return false;
		if (!*name || strcmp(name, "machine") == 0 ||
		    (dot && (strcmp(dot, ".slice") == 0 || strcmp(dot, ".partition") == 0)))
			continue;
		return dot && ((strncmp(name, "machine-qemu", 12) == 0 && strcmp(dot, ".scope") == 0) ||
			       strcmp(dot, ".libvirt-qemu") == 0);
	}
	return false;
}

bool libvirt_qemu_group(int proc, const char *pid)
{
	char path[NAME_MAX + 8], text[8192], *rest = text, *line;

	snprintf(path, sizeof(path), "%s/cgroup", pid);
	if (sys_read(proc, path, text, sizeof(text)) < 0)
		return false;
	/* Each line is HIERARCHY:CONTROLLERS:PATH. */
	while ((line = strsep(&rest, "\n"))) {
		line = strchr(line, ':');
		line = line ? strchr(line + 1, ':') : NULL;
		if (line && is_machine(line + 1))
			return true;
	}
	return false;
}

struct libvirt_qemu *libvirt_qemus(const struct host *host, size_t *n)
{
	const struct dirent *e;
	autoclosedir DIR *d = sys_list(host->libvirt, "run/libvirt/qemu");
	struct libvirt_qemu *list = NULL;

	*n = 0;
	while ((e = sys_next(d))) {
		const char *dot = strrchr(e->d_name, '.');
		pid_t pid = dot && strcmp(dot, ".pid") == 0 ? libvirt_read_pid(sys_list_fd(d), e->d_name) : 0;
		struct libvirt_qemu *qemu;

		if (pid <= 0)
			continue;
		qemu = mem_add(&list, n, sizeof(*qemu));
		qemu->pid = pid;
		snprintf(qemu->domain, sizeof(qemu->domain), "%.*s", (int)(dot - e->d_name), e->d_name);
	}
	return list;
}
