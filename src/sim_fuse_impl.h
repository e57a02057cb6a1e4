/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the two halves of sim_fuse share: sim_fuse.c mounts and serves, sim_fuse_ops.c answers single requests.
 *
 * Depends on: libfuse, sim_kernel. Of no use to anybody else.
 */
#pragma once

#define FUSE_USE_VERSION 35

#include <fuse_lowlevel.h>
#include <pthread.h>
#include <time.h>

#include "sim_kernel.h"

struct job; /* something that the real kernel has to forget, or an answer that has to wait until it has */

struct server {
	struct sim_kernel *kernel;
	struct fuse_session *session;
	time_t born;
	bool is_up, opens_folders;
	/*
	 * Forgetting an entry takes the folder's lock, which a process may hold that waits for an answer of ours: a
	 * thread of its own does it, and nothing else.
	 */
	pthread_t forgetter;
	pthread_mutex_t lock;
	pthread_cond_t more;
	struct job *jobs, **last_job;
	bool holds_answers, ends;
};

extern const struct fuse_lowlevel_ops sim_fuse_ops;

static inline fuse_ino_t ino_of(const struct server *server, const struct sim_node *node)
{
	return node == server->kernel->tree.root ? FUSE_ROOT_ID : (fuse_ino_t)(uintptr_t)node;
}

/* Answers a write: bytes or a negative errno; once the real kernel has forgotten what the write has made go. */
void sim_fuse_reply_write(struct server *server, fuse_req_t req, ssize_t result);
