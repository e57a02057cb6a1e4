/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A small host for a test: a directory below /tmp, made from a text that shows it, and gone at tree_end().
 *
 *     path = value      a file with this value and a newline; \n in the value is one, too
 *     path -> target    a symbolic link
 *     path/             an empty directory
 *      name = value     behind it, with a blank before it: in that directory
 *
 * Directories on the way are made. Lines that are empty or begin with # are passed over.
 */
#pragma once

#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>

#include "lib/tap.h"
#include "sys/sys.h"

struct tree {
	char path[64];
	struct host host;
};

static inline void tree_fail(const char *what)
{
	perror(what);
	exit(1);
}

static inline void tree_directories(int root, char *path)
{
	for (char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdirat(root, path, 0755);
		*slash = '/';
	}
}

static inline void tree_file(int root, const char *path, const char *value)
{
	int fd = openat(root, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "w");

	if (!f)
		tree_fail(path);
	for (; *value; value++) {
		bool newline = value[0] == '\\' && value[1] == 'n';

		putc(newline ? '\n' : *value, f);
		value += newline;
	}
	putc('\n', f);
	if (fclose(f) != 0)
		tree_fail(path);
}

/* Adds to the tree what the text shows; files that are there are written anew. */
static inline void tree_add(struct tree *tree, const char *text)
{
	int root = open(tree->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char directory[PATH_MAX] = "";

	if (root < 0)
		tree_fail(tree->path);
	while (*text) {
		size_t n = strcspn(text, "\n");
		char line[4096], *middle;

		snprintf(line, sizeof(line), "%s%.*s", *text == ' ' ? directory : "", (int)n - (*text == ' '),
			 text + (*text == ' '));
		text += n + (text[n] == '\n');
		if (!*line || *line == '#')
			continue;
		if (line[strlen(line) - 1] == '/')
			strcpy(directory, line);
		middle = strstr(line, " -> ");
		if (middle) {
			*middle = '\0';
			tree_directories(root, line);
			if (symlinkat(middle + 4, root, line) < 0)
				tree_fail(line);
			continue;
		}
		middle = strstr(line, " = ");
		if (middle)
			*middle = '\0';
		tree_directories(root, line);
		if (middle)
			tree_file(root, line, middle + 3);
	}
	close(root);
}

__attribute__((format(printf, 2, 3))) static inline void tree_addf(struct tree *tree, const char *fmt, ...)
{
	char text[8192];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	tree_add(tree, text);
}

/* Writes a file of just these bytes, whose directory is there. */
static inline void tree_bytes(const struct tree *tree, const char *path, const char *bytes, size_t len)
{
	int fd = openat(tree->host.root, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	if (fd < 0 || write(fd, bytes, len) != (ssize_t)len || close(fd) < 0)
		tree_fail(path);
}

static inline int tree_unlink(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	return remove(path);
}

/* Removes a file, link or directory of the tree with all that is in it. */
__attribute__((format(printf, 2, 3))) static inline void tree_remove(const struct tree *tree, const char *fmt, ...)
{
	char path[1024], full[PATH_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(path, sizeof(path), fmt, ap);
	va_end(ap);
	snprintf(full, sizeof(full), "%s/%s", tree->path, path);
	nftw(full, tree_unlink, 32, FTW_DEPTH | FTW_PHYS);
}

static inline void tree_begin_in(struct tree *tree, const char *directory, const char *text)
{
	struct err err;

	snprintf(tree->path, sizeof(tree->path), "%s/vgpu-lease-test-XXXXXX", directory);
	if (!mkdtemp(tree->path))
		tree_fail(tree->path);
	if (host_open(&tree->host, tree->path, &err) < 0)
		tree_fail(err.text);
	tree_add(tree, text);
}

static inline void tree_begin(struct tree *tree, const char *text)
{
	tree_begin_in(tree, "/tmp", text);
}

static inline void tree_end(struct tree *tree)
{
	host_close(&tree->host);
	tree_remove(tree, "%s", "");
}

/* A tree until the end of the block. */
#define TREE(name, text)                                                                                               \
	__attribute__((cleanup(tree_end))) struct tree name;                                                           \
	tree_begin(&(name), text)
