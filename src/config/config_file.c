/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Files of the administrator: read only where nobody else could have written them. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "internal.h"
#include "base/file.h"

enum { FILE_MAX = 1024 * 1024, DROP_INS_MAX = 256 };

/* Ours decide what root does with the GPUs; nova.conf is named by ours, and packages give it to the user `nova`. */
static int check_trust(const struct stat *st, const char *name, enum dialect dialect, struct err *err)
{
	struct spot at = { .file = name };

	if (dialect == DIALECT_NOVA)
		return (st->st_mode & S_IWOTH) ? spot_err(&at, err, "everybody may write to it: chmod o-w %s", name)
					       : 0;
	if (st->st_uid != 0 && st->st_uid != geteuid())
		return spot_err(&at, err, "belongs to user %u, not to root: chown root %s", (unsigned int)st->st_uid,
				name);
	if (st->st_mode & (S_IWGRP | S_IWOTH))
		return spot_err(&at, err, "others than its owner may write to it: chmod go-w %s", name);
	return 0;
}

int config_file_read(int dir, const char *path, const char *name, enum dialect dialect, char **text, size_t *len,
		     struct err *err)
{
	/* Without O_NONBLOCK a pipe in the place of the file would be waited for. */
	autoclose int fd = openat(dir, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct spot at = { .file = name };
	struct stat st;
	int r;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(err, errno, "%s", name);
	if (!S_ISREG(st.st_mode))
		return spot_err(&at, err, "is no regular file");
	r = check_trust(&st, name, dialect, err);
	if (r < 0)
		return r;
	r = file_slurp(fd, FILE_MAX, text, len);
	if (r == -EFBIG)
		return spot_err(&at, err, "is larger than 1 MiB");
	return r < 0 ? err_sys(err, -r, "%s", name) : 0;
}

static int by_bytes(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int is_drop_in(const char *name)
{
	size_t n = strlen(name);

	return name[0] != '.' && n > 5 && strcmp(name + n - 5, ".conf") == 0;
}

static int list_names(DIR *dir, const char *name, char ***names, size_t *n, struct err *err)
{
	struct dirent *e;

	while (errno = 0, (e = readdir(dir))) {
		char **slot;

		if (!is_drop_in(e->d_name))
			continue;
		if (*n == DROP_INS_MAX)
			return spot_err(&(struct spot){ .file = name }, err, "holds more than %d files", DROP_INS_MAX);
		slot = list_add(names, n, sizeof(*slot));
		if (!slot || !(*slot = strdup(e->d_name)))
			return err_sys(err, ENOMEM, "%s", name);
	}
	return errno ? err_sys(err, errno, "%s", name) : 0;
}

int config_file_drop_ins(int dir, const char *path, const char *name, char ***names, size_t *n, struct err *err)
{
	autoclose int fd = file_dir(dir, path);
	autoclosedir DIR *stream = NULL;
	struct stat st;
	int r;

	*names = NULL;
	*n = 0;
	if (fd == -ENOENT)
		return 0;
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(err, fd < 0 ? -fd : errno, "%s", name);
	/* Whoever may write to the folder can take a file away. */
	r = check_trust(&st, name, DIALECT_OURS, err);
	if (r < 0)
		return r;
	stream = fdopendir(fd);
	if (!stream)
		return err_sys(err, errno, "%s", name);
	steal_fd(&fd);
	r = list_names(stream, name, names, n, err);
	if (*n > 1)
		qsort(*names, *n, sizeof(**names), by_bytes);
	return r;
}
