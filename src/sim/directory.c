/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The directory of a simulated host. */
#include "sim/directory.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/mem.h"
#include "sys/sys.h"
#include "sim/fuse.h"

static const char *const mounts[] = { SIM_FUSE_FILES, SIM_FUSE_DEVICES };
enum { STOP_MS = 10000 };

static const char *const links[] = { "sys", "proc", "dev" };

/* Decodes the \NNN that mountinfo writes for blanks. */
static void unescape(char *s)
{
	char *to = s;

	for (; *s; s++) {
		unsigned code;

		if (*s == '\\' && sscanf(s + 1, "%3o", &code) == 1) {
			*to++ = (char)code;
			s += 3;
		} else {
			*to++ = *s;
		}
	}
	*to = '\0';
}

/* Is one of our file systems mounted in the directory `full`, as `name`? Sets *pid to the process that serves it. */
static bool mount_find(const char *full, const char *name, pid_t *pid)
{
	autofclose FILE *lines = fopen("/proc/self/mountinfo", "re");
	autofree char *line = NULL;
	size_t size = 0, len = strlen(full);
	bool found = false;

	while (lines && getline(&line, &size, lines) > 0) {
		autofree char *point = NULL, *source = NULL;
		char *rest = strstr(line, " - fuse." SIM_FUSE_NAME " ");
		int number;

		if (!rest || sscanf(line, "%*s %*s %*s %*s %ms", &point) != 1 ||
		    sscanf(rest, " - %*s %ms", &source) != 1)
			continue;
		unescape(point);
		if (strncmp(point, full, len) != 0 || point[len] != '/' || strcmp(point + len + 1, name) != 0)
			continue;
		found = true;
		*pid = sscanf(source, SIM_FUSE_SOURCE "%d", &number) == 1 ? number : 0;
	}
	return found;
}

static int directory(int at, const char *dir, const char *name, struct err *err)
{
	if (mkdirat(at, name, 0755) < 0 && errno != EEXIST)
		return err_sys(err, errno, "directory %s/%s", dir, name);
	return 0;
}

static int link_in(int at, const char *dir, const char *name, struct err *err)
{
	char target[32], there[32] = "";

	snprintf(target, sizeof(target), SIM_FUSE_FILES "/%s", name);
	if (symlinkat(target, at, name) == 0)
		return 0;
	if (errno != EEXIST)
		return err_sys(err, errno, "link %s/%s", dir, name);
	if (readlinkat(at, name, there, sizeof(there) - 1) < 0 || strcmp(there, target) != 0)
		return err_set(err, EEXIST, "%s/%s is there already and is not ours: name a directory without it", dir,
			       name);
	return 0;
}

int sim_directory_prepare(const char *dir, char full[PATH_MAX], struct err *err)
{
	static const char *const directories[] = { "run", "etc", "var", "var/lib" };
	autoclose int at = -1;
	pid_t pid;
	int r = 0;

	if (access("/dev/fuse", R_OK | W_OK) < 0)
		return err_set(err, errno,
			       "/dev/fuse cannot be opened: be root, load the kernel's module fuse, and hand the "
			       "device into a container");
	if (mkdir(dir, 0755) < 0 && errno != EEXIST)
		return err_sys(err, errno, "%s", dir);
	if (!realpath(dir, full))
		return err_sys(err, errno, "%s", dir);
	at = sys_dir(AT_FDCWD, full);
	if (at < 0)
		return err_sys(err, -at, "%s", dir);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(mounts); i++) {
		if (mount_find(full, mounts[i], &pid))
			return err_set(err, EEXIST, "%s is in use: end the host there with %s --stop %s", dir,
				       SIM_FUSE_NAME, dir);
		r = directory(at, dir, mounts[i], err);
	}
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(links); i++)
		r = link_in(at, dir, links[i], err);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(directories); i++)
		r = directory(at, dir, directories[i], err);
	return r;
}

/* Opens a pidfd; -1: the process has ended, or the PID now belongs to another program. */
static int process_open(pid_t pid)
{
	char path[32], comm[32];

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	if (pid <= 0 || sys_read(AT_FDCWD, path, comm, sizeof(comm)) < 0 || strcmp(comm, SIM_FUSE_NAME) != 0)
		return -1;
	return (int)syscall(SYS_pidfd_open, pid, 0);
}

int sim_directory_stop(const char *dir, struct err *err)
{
	autoclose int process = -1, at = -1;
	char full[PATH_MAX];
	struct pollfd gone;
	bool found = false;
	pid_t pid = 0;

	if (!realpath(dir, full))
		return err_sys(err, errno, "%s", dir);
	at = sys_dir(AT_FDCWD, full);
	for (size_t i = 0; at >= 0 && i < ARRAY_SIZE(mounts); i++) {
		char where[PATH_MAX + 16];

		if (!mount_find(full, mounts[i], &pid))
			continue;
		found = true;
		if (process < 0)
			process = process_open(pid);
		/* MNT_FORCE also ends waiting requests. MNT_DETACH unmounts even if files are open. */
		snprintf(where, sizeof(where), "%s/%s", full, mounts[i]);
		/* EINVAL: already unmounted. The process unmounts its second file system when the first is gone. */
		if (umount2(where, MNT_FORCE | MNT_DETACH) < 0 && errno != EINVAL)
			return err_sys(err, errno, "%s cannot be unmounted", where);
	}
	if (!found)
		return err_set(err, ENOENT, "no simulated host runs in %s", dir);
	gone = (struct pollfd){ .fd = process, .events = POLLIN };
	if (process >= 0 && poll(&gone, 1, STOP_MS) <= 0)
		return err_set(err, ETIMEDOUT, "%s is unmounted, but process %d does not end", dir, (int)pid);
	for (size_t i = 0; i < ARRAY_SIZE(links); i++)
		unlinkat(at, links[i], 0);
	for (size_t i = 0; i < ARRAY_SIZE(mounts); i++)
		unlinkat(at, mounts[i], AT_REMOVEDIR);
	return 0;
}
