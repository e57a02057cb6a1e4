/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the parts of sim_fuse share: sim_fuse.c mounts and serves, sim_fuse_ops.c answers single requests,
 * sim_fuse_attr.c tells what a node is like.
 */
#pragma once

#define FUSE_USE_VERSION 35

#include <fuse_lowlevel.h>
#include <pthread.h>
#include <time.h>

#include "sim/kernel.h"

struct hanging; /* a read that has no answer yet */
struct job;     /* something that the real kernel has to forget, or an answer that has to wait until it has */

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
	uint64_t asked; /* how often a file's time was made up, see sim_fuse_ops.c */
	/*
	 * Forgetting an entry takes the directory's lock, which a process may hold that waits for an answer of ours: a
	 * thread of its own does it, and nothing else.
	 */
	pthread_t forgetter;
	pthread_mutex_t lock;
	pthread_cond_t more;
	struct job *jobs, **last_job;
	struct hanging *hanging;
	unsigned unfinished; /* jobs that are queued or being done */
	bool ends;
};

extern const struct fuse_lowlevel_ops sim_fuse_ops;

static inline fuse_ino_t ino_of(const struct mounted *mounted, const struct sim_node *node)
{
	return node == mounted->root ? FUSE_ROOT_ID : (fuse_ino_t)(uintptr_t)node;
}

/* Answers a write, with bytes or a negative errno: once the real kernel has forgotten all that was to be forgotten. */
void sim_fuse_reply_write(struct server *server, fuse_req_t req, ssize_t result);

/* Is there something that the real kernel has to forget yet? */
bool sim_fuse_forgets(struct server *server);

/* Answers the reads that need not hang any more. */
void sim_fuse_answer_reads(struct server *server);

/* Does a read of this file hang? */
bool sim_fuse_is_read(const struct server *server, const struct sim_node *file);

#define SIM_FUSE_ALIASES ((fuse_ino_t)SIM_ALIASES - 1)
#define SIM_FUSE_DEV_LINK "../" SIM_FUSE_DEVICES

/* A node as an entry of its directory. */
void sim_fuse_entry_fill(const struct mounted *mounted, struct sim_node *node, struct fuse_entry_param *e);

/* What it is like, for whoever has looked it up under this number. */
void sim_fuse_stat(const struct mounted *mounted, fuse_ino_t ino, struct sim_node *node, struct fuse_entry_param *e);

/* The text whose size was told under this alias; NULL: none, or reading it gave an error. */
const char *sim_fuse_told(const struct sim_node *node, unsigned alias);

/* May its text be kept by the real kernel? */
bool sim_fuse_is_kept(const struct sim_node *node);

/* The text of a file; *error is what reading it gives. To be freed. */
char *sim_fuse_render(const struct sim_node *node, size_t *len, int *error);
