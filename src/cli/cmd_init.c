/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* vgpu-lease init: prints a first configuration for this host, and writes it. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/cmd.h"

enum { CONFIG_MAX = 1024 * 1024 };

/* Does the text have only comments and section names, like the packaged file? */
static bool sets_nothing(char *text)
{
	char *line;

	while ((line = text_next(&text, "\n")))
		if (!strchr("#;", *line) && strcmp(line, "[devices]") != 0 && strcmp(line, "[policy]") != 0 &&
		    strcmp(line, "[quota]") != 0)
			return false;
	return true;
}

/* Fails if the file has settings, or is a link or not a regular file. */
static int check_replaceable(const struct cmd *cmd, int dir, const char *path, struct err *err)
{
	autoclose int fd = openat(dir, basename(path), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	autofree char *text = NULL;
	struct stat st;
	size_t len;

	if (fd < 0 && errno != ENOENT && errno != ELOOP)
		return err_sys(err, errno, "%s", path);
	if (cmd->has_config && cmd->config.nsections)
		path = cmd->config.sections[0].at.file;
	else if ((fd < 0 && errno == ENOENT) || (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
						 sys_slurp(fd, CONFIG_MAX, &text, &len) == 0 && sets_nothing(text)))
		return 0;
	return err_set(err, EEXIST, "%s: exists already; compare it with the output of 'vgpu-lease init'", path);
}

/* --root applies to the default path, but not to the FILE of --config. */
static int write_file(const struct cmd *cmd, const char *path, const char *text, size_t len, struct err *err)
{
	const char *config = cmd->call->args.config, *below = config ? config : path + 1;
	autofree char *parent = mem_format("%.*s.", (int)(basename(below) - below), below);
	autoclose int dir = openat(config ? AT_FDCWD : cmd->host.root, parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int r;

	if (dir < 0)
		return err_sys(err, errno, "%s", path);
	if (check_replaceable(cmd, dir, path, err) < 0)
		return -err->code;
	r = sys_publish(dir, basename(path), text, len);
	if (r == 0 && syncfs(dir) < 0)
		r = -errno;
	return r < 0 ? err_sys(err, -r, "%s", path) : 0;
}

static int run(struct cmd *cmd, struct err *err)
{
	const char *config = cmd->call->args.config, *path = config ? config : "/etc/vgpu-lease.conf";
	autofree char *text = NULL;
	size_t len;

	if (init_text(&cmd->host, &text, &len, err) < 0)
		return -err->code;
	if (cmd->call->write && write_file(cmd, path, text, len, err) < 0)
		return -err->code;
	/* Print the text with --write as well, so that the operator sees the choice. */
	fwrite(text, 1, len, stdout);
	if (cmd->call->write) {
		putchar('\n');
		out_say("wrote %s%s; edit it as needed, then run 'vgpu-lease check'", config ? "" : cmd->host.name,
			path);
	}
	return CMD_DONE;
}

const struct command cmd_init = {
	.name = "init",
	.options = CMD_INIT_WRITE,
	.summary = "Print a first configuration for this host",
	.help = "Each pGPU gets the types of its existing vGPUs, or of its mdevctl definitions.\n"
		"A pGPU without either gets a type of at least 2048 MiB; an NVIDIA pGPU gets a Q\n"
		"type. pGPUs that are not ready are left out, with the reason.\n"
		"\n"
		"--write also writes /etc/vgpu-lease.conf (or FILE of --config) if it does not\n"
		"exist or has no settings, like the file of the package.\n",
	.needs = CMD_CONFIG_OWN,
	.run = run,
};
