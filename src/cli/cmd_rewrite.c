/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * vgpu-lease rewrite FILE: gives placeholders UUIDs of their own, in the hostdev and in the metadata alike, and puts
 * what this host knows of such a vGPU into its <vgpu:device>, for the target of a migration.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "cli/cmd.h"
#include "domain/domxml.h"
#include "base/file.h"
#include "base/ident.h"
#include "ops/rewrite.h"

/* The XML is the caller's. A host that cannot be looked at, or that has no configuration, is not asked: no error. */
static int make(struct rewrite *r, const char *xml, size_t len, const struct cmd_call *call, const char *shown,
		struct err *err)
{
	struct cmd cmd;
	struct err ignored;
	int n;

	*r = (struct rewrite){ .xml = xml, .len = len, .flags = DOMXML_FILE, .all = call->all, .vfs = true };
	if (rewrite_begin(r, err) < 0)
		return err_in(err, "%s", shown);
	if (!rewrite_asks(r))
		return rewrite_make(r, NULL, NULL, err) < 0 ? err_in(err, "%s", shown) : 0;
	n = cmd_open(&cmd, call, CMD_CONFIG_MAY, false, &ignored);
	n = rewrite_make(r, &cmd.host, n == 0 && cmd.has_config ? &cmd.config : NULL, err);
	cmd_close(&cmd);
	return n < 0 ? err_in(err, "%s", shown) : 0;
}

/* Writes the new file beside the old one, as its equal in owner and mode. */
static int write_beside(int dir, const char *name, const struct stat *was, const struct rewrite *r)
{
	autoclose int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0)
		return -errno;
	for (size_t done = 0; done < r->rewritten_len;) {
		ssize_t n = write(fd, r->rewritten + done, r->rewritten_len - done);

		if (n < 0 && errno != EINTR)
			return -errno;
		done += n < 0 ? 0 : (size_t)n;
	}
	if ((was->st_uid != geteuid() || was->st_gid != getegid()) && fchown(fd, was->st_uid, was->st_gid) < 0)
		return -errno;
	if (fchmod(fd, was->st_mode & 07777) < 0 || fsync(fd) < 0)
		return -errno;
	return 0;
}

static int replace(int dir, const char *base, const struct stat *was, const struct rewrite *r)
{
	char name[NAME_MAX + 1], unique[UUID_SIZE];
	int n;

	uuid_random(unique);
	if (snprintf(name, sizeof(name), ".%.200s.%.8s", base, unique) >= (int)sizeof(name))
		return -ENAMETOOLONG;
	n = write_beside(dir, name, was, r);
	if (n == 0 && renameat(dir, name, dir, base) < 0)
		n = -errno;
	if (n < 0)
		unlinkat(dir, name, 0);
	return n;
}

static void say_what_changed(const struct rewrite *r, const char *path)
{
	const struct request *request = domxml_request(r->doc);

	for (size_t i = 0; i < r->nchanges; i++)
		cmd_say("%s -> %s", request->vgpus[r->changes[i].req].id, r->changes[i].id);
	if (r->nchanges && (strncmp(path, "/etc/libvirt/", 13) == 0 || strncmp(path, "/run/libvirt/", 13) == 0))
		cmd_warn("libvirt does not notice a change of its own files: use 'virsh define %s'", path);
}

/* `fd` negative: it could not be opened, as errno says. 0, or CMD_USAGE. */
static int read_regular(int fd, struct stat *st, char **xml, size_t *len, const char *shown, struct err *err)
{
	int r;

	if (fd < 0 || fstat(fd, st) < 0) {
		err_sys(err, errno, "%s", shown);
		return CMD_USAGE;
	}
	if (!S_ISREG(st->st_mode)) {
		err_set(err, EOPNOTSUPP, "%s: no regular file", shown);
		return CMD_USAGE;
	}
	r = file_slurp(fd, DOMXML_MAX, xml, len);
	if (r < 0)
		err_sys(err, -r, "%s", shown);
	return r < 0 ? CMD_USAGE : 0;
}

/* The file that a link leads to is changed, not the link. */
static int in_place(const struct cmd_call *call, struct err *err)
{
	const char *shown = call->operands[0];
	autofree char *path = realpath(shown, NULL);
	struct rewrite rewrite = { 0 };
	autofree char *xml = NULL;
	struct stat was;
	char *base;
	size_t len = 0;
	int r;

	if (!path) {
		err_sys(err, errno, "%s", shown);
		return CMD_USAGE;
	}
	base = strrchr(path, '/');
	*base++ = '\0';
	autoclose int dir = open(*path ? path : "/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	autoclose int fd = dir < 0 ? -1 : openat(dir, base, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
	r = read_regular(fd, &was, &xml, &len, shown, err);
	if (r == 0)
		r = make(&rewrite, xml, len, call, shown, err);
	if (r == 0 && rewrite.nchanges) {
		r = replace(dir, base, &was, &rewrite);
		if (r < 0)
			err_sys(err, -r, "%s stays as it was", shown);
	}
	base[-1] = '/';
	if (r == 0)
		say_what_changed(&rewrite, path);
	rewrite_end(&rewrite);
	return r;
}

static int to_stdout(const struct cmd_call *call, struct err *err)
{
	const char *path = call->operands[0];
	struct rewrite rewrite = { 0 };
	autofree char *xml = NULL;
	size_t len;
	int r = cmd_read_xml(path, &xml, &len, err) < 0 ? CMD_USAGE : 0;

	if (r == 0)
		r = make(&rewrite, xml, len, call, cmd_shown(path), err);
	if (r == 0)
		fwrite(rewrite.rewritten, 1, rewrite.rewritten_len, stdout);
	rewrite_end(&rewrite);
	return r;
}

static int run(const struct cmd_call *call, struct err *err)
{
	if (!call->in_place)
		return to_stdout(call, err);
	if (strcmp(call->operands[0], "-") != 0)
		return in_place(call, err);
	err_set(err, EINVAL, "--in-place needs a file, not standard input");
	return CMD_USAGE;
}

const struct command cmd_rewrite = {
	.name = "rewrite",
	.operand = "FILE",
	.options = CMD_ALL | CMD_IN_PLACE,
	.summary = "gives the placeholders in a domain's XML UUIDs of their own",
	.help = "A placeholder is the UUID 00000000-0000-0000-0000-0000000000NN: \"lease one for me\". A cold start needs a UUID of\n"
		"the device's own, as libvirt takes no new one then. Prints the XML. FILE - is standard input.\n"
		"\n"
		"A <vgpu:device> that names such a vGPU also gets the facts that are known of it here, for the target of a\n"
		"migration: type, name, framework, model and driver. The address of a VF that the metadata name, and that cannot\n"
		"be had here, becomes that of a free VF of the pool. Nothing else changes.\n",
	.run = run,
};
