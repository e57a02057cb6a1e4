/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One simulated host for all functions of a test, with a store of leases and a configuration:
 *
 *     LIVE_TESTS("t4+mtty", "[devices]\nenabled_mdev_types = nvidia-222\n", origins, marks)
 *
 * It is vgpu-lease-sim on a directory of its own, gone at the end. Where there can be none (no FUSE, not root) the test
 * is skipped, or fails with MUST_WORK=1 in the environment.
 */
#pragma once

#include <spawn.h>
#include <sys/wait.h>

#include "lib/config_text.h"
#include "lib/leases.h"
#include "lib/vgpu.h"

static struct live {
	struct tree tree;
	char sim[PATH_MAX];
} live;
static struct config config __attribute__((unused));

static inline int live_run(const char *first, const char *second)
{
	extern char **environ;
	char *argv[] = { (char *)live.sim, (char *)first, (char *)second, NULL };
	int status = -1;
	pid_t pid;

	if (posix_spawn(&pid, live.sim, NULL, NULL, argv, environ) != 0 || waitpid(pid, &status, 0) < 0)
		return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static inline void live_end(void)
{
	live_run("--stop", live.tree.path);
	tree_end(&live.tree);
}

/* Starts a host of this model; ends the program where there can be none. */
static inline void live_begin(const char *model)
{
	const char *wanted = getenv("MUST_WORK");
	bool must_work = wanted && strcmp(wanted, "1") == 0;

	snprintf(live.sim, sizeof(live.sim), "%s/vgpu-lease-sim", getenv("builddir"));
	tree_begin(&live.tree, "");
	/* What is mounted on the directory is seen by a descriptor that is opened afterwards. */
	host_close(&live.tree.host);
	if (live_run(live.tree.path, model) == 0) {
		must(host_open(&live.tree.host, live.tree.path, &err));
		return;
	}
	tree_end(&live.tree);
	if (must_work) {
		ok(false, "a simulated host starts");
		exit(tap_done());
	}
	printf("1..0 # SKIP no simulated host can be started here%s\n",
	       access(live.sim, X_OK) < 0 ? ": run 'make', which builds vgpu-lease-sim" : "");
	exit(0);
}

/* Has mdevctl define this, started at boot. */
static inline void live_define(const char *parent, const char *type, const char *uuid)
{
	tree_addf(&live.tree, "etc/mdevctl.d/%s/%s = {\"mdev_type\": \"%s\", \"start\": \"auto\"}\n", parent, uuid,
		  type);
}

static inline void make(const struct vgpu_ref *vgpu)
{
	must(kernel_create(&live.tree.host, vgpu, &err));
}

static inline bool exists(const char *id)
{
	return kernel_exists(&live.tree.host, MDEV("", "", id)) == 1;
}

static inline int hold(const char *id)
{
	char link[PATH_MAX] = "", path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "sys/bus/%s/devices/%s/iommu_group", strlen(id) == 36 ? "mdev" : "pci", id);
	if (readlinkat(live.tree.host.root, path, link, sizeof(link) - 1) <= 0)
		tree_fail(path);
	snprintf(path, sizeof(path), "dev/vfio/%.32s", strrchr(link, '/') + 1);
	fd = openat(live.tree.host.root, path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		tree_fail(path);
	return fd;
}

/* The main() of a test that only calls these functions on such a host. */
#define LIVE_TESTS(model, text, ...)                                                                                   \
	int main(void)                                                                                                 \
	{                                                                                                              \
		live_begin(model);                                                                                     \
		must(config_of_text(&config, "test", text, strlen(text), &err));                                       \
		must(store_open(&store, &live.tree.host, true, &err));                                                 \
		for (EACH_TEST(__VA_ARGS__))                                                                           \
			(*test)();                                                                                     \
		store_close(&store);                                                                                   \
		config_free(&config);                                                                                  \
		live_end();                                                                                            \
		return tap_done();                                                                                     \
	}
