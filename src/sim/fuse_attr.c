/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Describes the simulated nodes to the real kernel. */
#include <stdlib.h>
#include <string.h>

#include "sim/fuse.h"
#include "base/mem.h"
#include "internal.h"

static const double FOR_GOOD = 365 * 86400.0; /* seconds */

enum { PAGE = 4096, NSEC = 1000000000 };

static bool is_read_and_written(const struct sim_node *node)
{
	return node->kind == SIM_FILE && node->attr->show && node->attr->store;
}

/* In the file system of sysfs, dev is a link to the file system of the devices. */
static bool is_elsewhere(const struct mounted *mounted, const struct sim_node *node)
{
	return node == mounted->server->kernel->dev && mounted->root != node;
}

char *sim_fuse_render(const struct sim_node *node, size_t *len, int *error)
{
	char *text = NULL;
	FILE *out = mem_open(&text, len);

	*error = node->attr->show(node, out);
	mem_close(out);
	return text;
}

bool sim_fuse_is_kept(const struct sim_node *node)
{
	return !node->passing && (!node->attr->show || (node->attr->kept && !node->attr->store));
}

const char *sim_fuse_told(const struct sim_node *node, unsigned alias)
{
	return node->told ? node->told[alias] : NULL;
}

static void tell(struct sim_node *node, unsigned alias, char *text)
{
	if (!node->told)
		node->told = mem_new(SIM_ALIASES, sizeof(*node->told));
	free(node->told[alias]);
	node->told[alias] = text;
}

/*
 * Unlike sysfs, FUSE locks a file's pages during a write, shows the written text at once, and has one file size for all
 * readers. So a file that can be read and written gets a new inode number at each lookup.
 */
static fuse_ino_t ino_now(const struct mounted *mounted, struct sim_node *node)
{
	node->alias = (node->alias + 1) & SIM_FUSE_ALIASES;
	while (node->writing & 1U << node->alias && node->writing != (1U << (SIM_FUSE_ALIASES + 1)) - 1)
		node->alias = (node->alias + 1) & SIM_FUSE_ALIASES;
	return ino_of(mounted, node) | node->alias;
}

/*
 * The size must be exact, because the real kernel reads no further. A text that must not be cached gets a new file time
 * at each request, so that the real kernel reads it again.
 */
static void file_fill(struct server *server, struct sim_node *node, unsigned alias, struct stat *st)
{
	size_t len = PAGE;
	char *text = NULL;
	int error = 0;

	if (node->attr->show && !node->gone) {
		text = sim_fuse_render(node, &len, &error);
		if (error) {
			len = PAGE; /* the size must not be 0, so that a read is made and gets the error */
			free(steal_ptr(&text));
		}
	}
	if (sim_fuse_is_kept(node))
		free(text);
	else
		tell(node, alias, text);
	st->st_mode = S_IFREG | node->attr->mode;
	st->st_size = (off_t)len;
	if (sim_fuse_is_kept(node))
		node->looked_at = true;
	else
		st->st_mtim.tv_nsec = (long)(server->asked++ % NSEC);
}

static void stat_fill(const struct mounted *mounted, struct sim_node *node, unsigned alias, struct stat *st)
{
	struct server *server = mounted->server;
	enum sim_kind kind = is_elsewhere(mounted, node) ? SIM_LINK : node->kind;

	*st = (struct stat){ .st_ino = node->id, .st_nlink = 1, .st_blksize = PAGE };
	st->st_atim.tv_sec = st->st_mtim.tv_sec = st->st_ctim.tv_sec = server->born;
	if (node->passing)
		st->st_ctim = node->made;
	switch (kind) {
	case SIM_DIR:
		st->st_mode = S_IFDIR | 0755;
		/* The real kernel caches a listing until mtime changes, so each change of the entries changes mtime. */
		st->st_mtim.tv_sec += (time_t)(node->changed / NSEC);
		st->st_mtim.tv_nsec = (long)(node->changed % NSEC);
		break;
	case SIM_FILE:
		file_fill(server, node, alias, st);
		break;
	case SIM_LINK:
		st->st_mode = S_IFLNK | 0777;
		st->st_size = (off_t)strlen(node->target ? node->target : SIM_FUSE_DEV_LINK);
		break;
	case SIM_DEVICE:
		/* The real kernel would open a real device node without us. Only root may open a group. */
		st->st_mode = S_IFREG | (node->owner ? 0600 : 0666);
		break;
	case SIM_CHAR:
		st->st_mode = S_IFCHR | 0600;
		st->st_rdev = node->rdev;
		break;
	}
}

void sim_fuse_stat(const struct mounted *mounted, fuse_ino_t ino, struct sim_node *node, struct fuse_entry_param *e)
{
	bool asks = node->passing || node->varies || (node->kind == SIM_FILE && !sim_fuse_is_kept(node));

	*e = (struct fuse_entry_param){ .ino = ino };
	e->entry_timeout = node->passing || is_read_and_written(node) ? 0 : FOR_GOOD;
	e->attr_timeout = asks ? 0 : FOR_GOOD;
	stat_fill(mounted, node, ino == FUSE_ROOT_ID ? 0 : (unsigned)(ino & SIM_FUSE_ALIASES), &e->attr);
}

void sim_fuse_entry_fill(const struct mounted *mounted, struct sim_node *node, struct fuse_entry_param *e)
{
	sim_fuse_stat(mounted, is_read_and_written(node) ? ino_now(mounted, node) : ino_of(mounted, node), node, e);
}
