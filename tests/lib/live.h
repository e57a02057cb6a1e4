/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A simulated host for a test: vgpu-lease-sim on a directory of its own, gone at live_end(). Where there can be none
 * (no FUSE, not root) the test is skipped, or fails with MUST_WORK=1 in the environment.
 */
#pragma once

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>

#include "lib/tap.h"
#include "lib/tree.h"

struct live {
	struct tree tree;
	char sim[PATH_MAX];
};

/* Runs the simulator with these arguments; its exit status. */
static inline int live_run(const struct live *live, const char *first, const char *second)
{
	extern char **environ;
	char *argv[] = { (char *)live->sim, (char *)first, (char *)second, NULL };
	int status = -1;
	pid_t pid;

	if (posix_spawn(&pid, live->sim, NULL, NULL, argv, environ) != 0 || waitpid(pid, &status, 0) < 0)
		return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static inline void live_end(struct live *live)
{
	live_run(live, "--stop", live->tree.path);
	tree_end(&live->tree);
}

/* Starts a host of this model; ends the program where there can be none. */
static inline void live_begin(struct live *live, const char *model)
{
	const char *must = getenv("MUST_WORK");
	bool must_work = must && strcmp(must, "1") == 0;

	snprintf(live->sim, sizeof(live->sim), "%s/vgpu-lease-sim", getenv("builddir"));
	tree_begin(&live->tree, "");
	/* What is mounted on the directory is seen by a descriptor that is opened afterwards. */
	host_close(&live->tree.host);
	if (live_run(live, live->tree.path, model) == 0) {
		struct err err;

		if (host_open(&live->tree.host, live->tree.path, &err) < 0)
			tree_fail(err.text);
		return;
	}
	tree_end(&live->tree);
	if (must_work) {
		ok(false, "a simulated host starts");
		exit(tap_done());
	}
	printf("1..0 # SKIP no simulated host can be started here\n");
	exit(0);
}

/* Has mdevctl define this, started at boot. */
static inline void live_define(struct live *live, const char *parent, const char *type, const char *uuid)
{
	char file[PATH_MAX];

	snprintf(file, sizeof(file), "etc/mdevctl.d/%s/%s = {\"mdev_type\": \"%s\", \"start\": \"auto\"}\n", parent,
		 uuid, type);
	tree_add(&live->tree, file);
}

/* Writes a line to one of the simulator's control files. */
static inline void live_control(const struct live *live, const char *file, const char *line)
{
	char path[PATH_MAX];
	FILE *f;

	snprintf(path, sizeof(path), "%s/.kernel/control/%s", live->tree.path, file);
	f = fopen(path, "w");
	if (!f || fprintf(f, "%s\n", line) < 0 || fclose(f) != 0)
		tree_fail(path);
}
