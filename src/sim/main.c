/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* vgpu-lease-sim: a simulated host with vGPUs, for those who have none. */
#include "config/config.h"
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/err.h"
#include "base/host.h"
#include "sim/control.h"
#include "sim/fuse.h"
#include "sim/kernel.h"
#include "sim/place.h"
#include "sim/topology.h"
#include "base/text.h"

#define DRIVER_VERSION "550.90.05"

enum { USAGE = 2, SETTINGS_MAX = 32 };

struct options {
	bool foreground, stop;
	const char *dir, *model, *driver;
	int nsettings;
	char *settings[SETTINGS_MAX]; /* FILE=LINE */
};

static void usage(FILE *out)
{
	fprintf(out, "Usage: " SIM_FUSE_NAME " [--foreground] [--driver=VERSION] [--set FILE=LINE]... DIR MODEL\n"
		     "       " SIM_FUSE_NAME " --stop DIR\n"
		     "       " SIM_FUSE_NAME " --list-models | --help | --version\n");
}

static void help(void)
{
	usage(stdout);
	printf("\nSimulates a host with vGPUs below DIR: DIR/sys, DIR/proc and DIR/dev behave as the kernel's do. The other\n"
	       "programs look at it with --root DIR.\n\n"
	       "MODEL is NAME[/SHAPE][:COUNT], several joined by +, as in t4:8 or a40/16:2+mtty:\n\n");
	sim_model_list(stdout);
	printf("\n"
	       "  --foreground        stay in the foreground\n"
	       "  --driver=VERSION    the version of NVIDIA's driver [" DRIVER_VERSION "]\n"
	       "  --set FILE=LINE     begin with this line in a control file\n"
	       "  --stop              end the host in DIR\n"
	       "\nA shell can write these files in DIR/.kernel/control while the host runs:\n\n");
	sim_control_help(stdout);
}

static bool is_folder(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* The exit status of what ends the program at once; -1: go on. */
static int options_parse(struct options *o, int argc, char **argv)
{
	static const struct option known[] = {
		{ "foreground", no_argument, NULL, 'f' },  { "driver", required_argument, NULL, 'd' },
		{ "set", required_argument, NULL, 's' },   { "stop", no_argument, NULL, 'S' },
		{ "list-models", no_argument, NULL, 'l' }, { "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },     { 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "", known, NULL)) != -1) {
		if (c == 'f')
			o->foreground = true;
		else if (c == 'd')
			o->driver = optarg;
		else if (c == 's' && o->nsettings < SETTINGS_MAX)
			o->settings[o->nsettings++] = optarg;
		else if (c == 'S')
			o->stop = true;
		else if (c == 'l')
			return sim_model_list(stdout), 0;
		else if (c == 'h')
			return help(), 0;
		else if (c == 'V')
			return printf(SIM_FUSE_NAME " " PACKAGE_VERSION "\n"), 0;
		else
			return usage(stderr), USAGE;
	}
	if (argc - optind != (o->stop ? 1 : 2))
		return usage(stderr), USAGE;
	o->dir = argv[optind];
	o->model = argv[optind + 1];
	if (!o->stop && is_folder(o->model) && !is_folder(o->dir)) {
		fprintf(stderr, SIM_FUSE_NAME ": '%s': expected a model, found a directory: DIR comes before MODEL\n",
			o->model);
		return USAGE;
	}
	return -1;
}

static int settings_apply(struct sim_kernel *kernel, const struct options *o, struct err *err)
{
	for (int i = 0; i < o->nsettings; i++) {
		autofree char *copy = sim_strdup(o->settings[i]);
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

	sim_kernel_init(kernel, host_now_ms());
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

/* Tells the program that started us that the host is there, and lets go of what it gave us. */
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

/* Waits for what the child has to say: one NUL, or why it cannot. */
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
		/* What the caller has open, a pipe that somebody waits on included, is not ours to keep. */
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
		r = sim_place_prepare(o->dir, dir, err);
	if (r == 0)
		r = o->foreground ? sim_fuse_serve(&kernel, dir, NULL, NULL, err) : background(&kernel, dir, err);
	sim_kernel_free(&kernel);
	return r;
}

int main(int argc, char **argv)
{
	struct options o = { .driver = DRIVER_VERSION };
	struct err err = { 0 };
	int r = options_parse(&o, argc, argv);

	if (r >= 0)
		return r;
	umask(022);
	r = o.stop ? sim_place_stop(o.dir, &err) : start(&o, &err);
	if (r == 0)
		return 0;
	err_print(stderr, SIM_FUSE_NAME, &err);
	return r == -EINVAL ? USAGE : 1;
}
