/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Shared by the parts of sim_fuse: fuse.c mounts and serves, fuse_ops.c answers, fuse_attr.c describes nodes. */
#pragma once

#define FUSE_USE_VERSION 35

#include <fuse_lowlevel.h>
#include <pthread.h>
#include <time.h>

#include "sim/kernel.h"

struct hanging; /* a read without an answer yet */
struct job;     /* an invalidation in the real kernel, or an answer that waits for one */

/* One of the two file systems: the simulated files, or the device nodes. */
struct mounted {
	struct server *server;
	struct fuse_session *session;
	struct sim_node *root;
	bool is_up, opens_files, opens_directories;
};

struct server {
	struct sim_kernel *kernel;
	struct mounted files, devices;
	time_t born;
	uint64_t asked; /* the number of file times that were made up (fuse_attr.c) */
	/*
	 * To invalidate an entry, the real kernel takes the directory's lock, whose holder may be waiting for us. So a
	 * separate thread requests the invalidations.
	 */
	pthread_t forgetter;
	pthread_mutex_t lock;
	pthread_cond_t more;
	struct job *jobs, **last_job;
	struct hanging *hanging;
	unsigned unfinished; /* queued or running jobs */
	bool ends;
};

extern const struct fuse_lowlevel_ops sim_fuse_ops;

static inline fuse_ino_t ino_of(const struct mounted *mounted, const struct sim_node *node)
{
	return node == mounted->root ? FUSE_ROOT_ID : (fuse_ino_t)(uintptr_t)node;
}

/* Answers a write with a number of bytes or a negative errno, after all queued invalidations. */
void sim_fuse_reply_write(struct server *server, fuse_req_t req, ssize_t result);

/* Are invalidations queued or running? */
bool sim_fuse_forgets(struct server *server);

void sim_fuse_answer_reads(struct server *server);

bool sim_fuse_is_read(const struct server *server, const struct sim_node *file);

#define SIM_FUSE_ALIASES ((fuse_ino_t)SIM_ALIASES - 1)
#define SIM_FUSE_DEV_LINK "../" SIM_FUSE_DEVICES

/* Describes a node as an entry of its directory. A lookup may give the node a new inode number. */
void sim_fuse_entry_fill(const struct mounted *mounted, struct sim_node *node, struct fuse_entry_param *e);

/* Describes a node under `ino`, the number by which it was looked up. */
void sim_fuse_stat(const struct mounted *mounted, fuse_ino_t ino, struct sim_node *node, struct fuse_entry_param *e);

/* The text whose size was reported under this alias; NULL: no size was reported, or rendering failed. */
const char *sim_fuse_told(const struct sim_node *node, unsigned alias);

/* May the real kernel cache the node's text? */
bool sim_fuse_is_kept(const struct sim_node *node);

/* Renders a file's text, and sets *error to the result of `show`. The caller frees the text. */
char *sim_fuse_render(const struct sim_node *node, size_t *len, int *error);
