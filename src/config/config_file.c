/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reads the administrator's files, unless another user could have written them. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "sys/sys.h"
#include "internal.h"

enum { FILE_MAX = 1024 * 1024 };

/* Our files control what root does. nova.conf has a weaker rule, because packages give it to the user `nova`. */
static int check_trust(const struct stat *st, const char *name, enum dialect dialect, struct err *err)
{
	struct location at = { .file = name };

	if (dialect == DIALECT_NOVA)
		return (st->st_mode & S_IWOTH) ? config_err(&at, err, "writable by others; run 'chmod o-w %s'", name)
					       : 0;
	if (st->st_uid != 0 && st->st_uid != geteuid())
		return config_err(&at, err, "owned by user %u, not root; run 'chown root %s'", (unsigned int)st->st_uid,
				  name);
	if (st->st_mode & (S_IWGRP | S_IWOTH))
		return config_err(&at, err, "writable by group or others; run 'chmod go-w %s'", name);
	return 0;
}

int config_file_read(int dir, const struct source *source, char **text, size_t *len, struct err *err)
{
	/* Without O_NONBLOCK, opening a pipe in place of the file would block. */
	autoclose int fd = openat(dir, source->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct location at = { .file = source->name };
	struct stat st;
	int r;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(err, errno, "%s", source->name);
	if (!S_ISREG(st.st_mode))
		return config_err(&at, err, "not a regular file");
	r = check_trust(&st, source->name, source->dialect, err);
	if (r < 0)
		return r;
	r = sys_slurp(fd, FILE_MAX, text, len);
	if (r == -EFBIG)
		return config_err(&at, err, "larger than 1 MiB");
	return r < 0 ? err_sys(err, -r, "%s", source->name) : 0;
}

static int by_bytes(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int is_drop_in(const struct dirent *entry)
{
	size_t n = strlen(entry->d_name);

	return entry->d_name[0] != '.' && n > 5 && strcmp(entry->d_name + n - 5, ".conf") == 0;
}

int config_file_drop_ins(int dir, const struct source *source, struct dirent ***list, struct err *err)
{
	autoclose int fd = sys_dir(dir, source->path);
	struct stat st;
	int n;

	*list = NULL;
	if (fd == -ENOENT)
		return 0;
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(err, fd < 0 ? -fd : errno, "%s", source->name);
	/* A user who can write to the directory can remove or replace its files. */
	if (check_trust(&st, source->name, source->dialect, err) < 0)
		return -err->code;
	n = scandirat(fd, ".", list, is_drop_in, by_bytes);
	return n < 0 ? err_sys(err, errno, "%s", source->name) : n;
}
