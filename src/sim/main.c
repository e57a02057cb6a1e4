/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* vgpu-lease-sim: simulates a host with vGPUs. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/args.h"
#include "base/err.h"
#include "base/mem.h"
#include "sim/control.h"
#include "sim/fuse.h"
#include "sim/kernel.h"
#include "sim/directory.h"
#include "sim/topology.h"
#include "base/text.h"
#include "sys/sys.h"

#define DRIVER_VERSION "550.90.05"

enum { SETTINGS_MAX = 32 };

struct options {
	struct args args;
	bool foreground, stop, list_models;
	const char *dir, *model, *driver;
	const char *settings[SETTINGS_MAX]; /* FILE=LINE */
};

static const struct arg table[] = {
	{ "foreground", NULL, 0, offsetof(struct options, foreground), "Run in the foreground", 0 },
	{ "driver", "VERSION", 0, offsetof(struct options, driver), "NVIDIA driver version [" DRIVER_VERSION "]", 0 },
	{ "set", "FILE=LINE", 0, offsetof(struct options, settings), "Write LINE to control file FILE at the start",
	  SETTINGS_MAX },
	{ "stop", NULL, 0, offsetof(struct options, stop), "Stop the host in DIR", 0 },
	{ "list-models", NULL, 0, offsetof(struct options, list_models), "List the models and their addresses", 0 },
	ARG_HELP,
	ARG_VERSION,
	{ 0 },
};

static void help(void)
{
	printf("usage: " SIM_FUSE_NAME " [OPTION]... DIR MODEL\n"
	       "       " SIM_FUSE_NAME " --stop DIR\n"
	       "       " SIM_FUSE_NAME " --list-models\n\n"
	       "Simulate a vGPU host in DIR: DIR/sys, DIR/proc and DIR/dev behave like the\n"
	       "kernel's. The other programs use it with --root DIR.\n\n");
	args_help(stdout, table, 0);
	printf("\nMODEL is NAME[/SHAPE][:COUNT]; join several with +: t4:8, a40/16:2+mtty. NAMEs:\n\n");
	sim_model_list(stdout);
	printf("\nControl files of a running host, in DIR/.kernel/control:\n\n");
	sim_control_help(stdout);
}

static bool is_directory(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Is the text a path instead of a model? The directory does not have to exist. */
static bool is_path(const char *text)
{
	return *text == '/' || *text == '.' || is_directory(text);
}

static int options_parse(struct options *o, int argc, char **argv, struct err *err)
{
	int operands;

	if (args_parse(o, table, argc, argv, err) < 0)
		return -err->code;
	if (o->args.help || o->args.version || o->list_models)
		return 0;
	operands = o->stop ? 1 : 2;
	if (o->args.noperands != operands)
		return err_set(err, EINVAL, "expected %s, found %d argument%s", o->stop ? "DIR" : "DIR MODEL",
			       o->args.noperands, o->args.noperands == 1 ? "" : "s");
	o->dir = o->args.operands[0];
	o->model = o->stop ? NULL : o->args.operands[1];
	if (o->model && is_path(o->model) && !is_directory(o->dir))
		return err_set(err, EINVAL, "'%s': expected a model, found a path: DIR comes before MODEL", o->model);
	return 0;
}

static int settings_apply(struct sim_kernel *kernel, const struct options *o, struct err *err)
{
	for (int i = 0; i < SETTINGS_MAX && o->settings[i]; i++) {
		autofree char *copy = mem_strdup(o->settings[i]);
		char *line = strchr(copy, '=');
		int r;

		if (line)
			*line++ = '\0';
		r = line ? sim_control_line(kernel, copy, line) : -EINVAL;
		if (r < 0)
			return err_sys(err, -r, "--set %s", o->settings[i]);
	}
	return 0;
}

static int kernel_build(struct sim_kernel *kernel, const struct options *o, struct err *err)
{
	int r;

	sim_kernel_init(kernel, sys_now_ms());
	if (!text_copy(kernel->driver_version, sizeof(kernel->driver_version), o->driver))
		return err_set(err, EINVAL, "--driver %s: too long", o->driver);
	r = sim_model_parse(&kernel->spec, o->model, err);
	if (r < 0)
		return r;
	sim_topology_build(kernel);
	sim_control_build(kernel);
	sim_tree_settle(&kernel->tree);
	return settings_apply(kernel, o, err);
}

/* Tells the parent process that the host is ready, and closes the standard streams inherited from it. */
static void on_ready(void *arg)
{
	int pipe_end = *(const int *)arg, null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int fd = 0; null >= 0 && fd <= 2; fd++)
		dup2(null, fd);
	if (write(pipe_end, "", 1) != 1)
		return;
	close(pipe_end);
	close(null);
}

static int background_child(struct sim_kernel *kernel, const char *dir, int pipe_end)
{
	struct err err = { 0 };

	setsid();
	if (chdir("/") < 0)
		return 1;
	if (sim_fuse_serve(kernel, dir, on_ready, &pipe_end, &err) < 0 &&
	    write(pipe_end, err.text, strlen(err.text)) < 0)
		return 1;
	return err.code != 0;
}

/* Waits until the child writes a NUL (the host is ready) or an error. */
static int background_wait(int pipe_end, const char *dir, struct err *err)
{
	char text[sizeof(err->text)] = "";
	size_t len = 0;
	ssize_t n;

	while ((n = read(pipe_end, text + len, sizeof(text) - 1 - len)) > 0) {
		if (text[0] == '\0')
			return 0;
		len += (size_t)n;
	}
	return err_set(err, EIO, "%s", len > 0 ? text : dir);
}

static int background(struct sim_kernel *kernel, const char *dir, struct err *err)
{
	int ends[2];
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_sys(err, errno, "pipe");
	pid = fork();
	if (pid < 0)
		return err_sys(err, errno, "fork");
	if (pid == 0) {
		int status;

		close(ends[0]);
		/* Close inherited descriptors. The caller may be waiting for the end of a pipe. */
		if (ends[1] > 3)
			close_range(3, (unsigned)ends[1] - 1, 0);
		close_range((unsigned)ends[1] + 1, ~0U, 0);
		status = background_child(kernel, dir, ends[1]);
		sim_kernel_free(kernel);
		_exit(status);
	}
	close(ends[1]);
	return background_wait(ends[0], dir, err);
}

static int start(const struct options *o, struct err *err)
{
	static struct sim_kernel kernel;
	char dir[PATH_MAX];
	int r = kernel_build(&kernel, o, err);

	if (r == 0)
		r = sim_directory_prepare(o->dir, dir, err);
	if (r == 0)
		r = o->foreground ? sim_fuse_serve(&kernel, dir, NULL, NULL, err) : background(&kernel, dir, err);
	sim_kernel_free(&kernel);
	return r;
}

int main(int argc, char **argv)
{
	struct options o = { .driver = DRIVER_VERSION };
	struct err err = { 0 };
	int r;

	sys_begin();
	if (options_parse(&o, argc, argv, &err) < 0)
		return args_usage_error(SIM_FUSE_NAME, &err);
	if (o.args.help || o.list_models || o.args.version) {
		if (o.args.help)
			help();
		else if (o.list_models)
			sim_model_list(stdout);
		else
			fputs(ARGS_VERSION(SIM_FUSE_NAME), stdout);
		return fflush(stdout) == 0 ? 0 : 1;
	}
	umask(022);
	r = o.stop ? sim_directory_stop(o.dir, &err) : start(&o, &err);
	if (r == 0)
		return 0;
	err_print(stderr, SIM_FUSE_NAME, &err);
	return r == -EINVAL ? ARGS_EXIT_USAGE : 1;
}
