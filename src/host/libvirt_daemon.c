/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The daemon that runs QEMU's domains. */
#include "host/libvirt_daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/text.h"
#include "sys/sys.h"

/* Does the process run as root under one of the daemon's names? */
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

pid_t libvirt_daemon(const struct host *host, char comm[LIBVIRT_COMM_SIZE])
{
	static const char *const files[] = { "run/libvirt/qemu/driver.pid", "run/libvirtd.pid", "run/virtqemud.pid" };
	bool denied = false;

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		char text[32];
		ssize_t n = sys_read(host->root, files[i], text, sizeof(text));
		long pid;

		denied |= n == -EACCES;
		if (n > 0 && text_number(text, 1, INT32_MAX, &pid) && is_daemon((pid_t)pid, comm))
			return (pid_t)pid;
	}
	return denied ? -1 : 0;
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
