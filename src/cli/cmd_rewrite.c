/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* vgpu-lease rewrite FILE|DOMAIN: replace placeholders with UUIDs, and add their migration facts to the metadata. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/cmd.h"
#include "domain/domxml.h"
#include "base/mem.h"
#include "act/rewrite.h"

/* Declare a rewrite after its XML: cleanups run in reverse order, and the rewrite refers to the XML. */
#define autorewrite __attribute__((cleanup(rewrite_end)))

/* Replaces the file, or the target of the link, atomically. Keeps its owner and mode. */
static int replace_file(const char *file, const struct stat *was, const struct rewrite *r, struct err *err)
{
	autofree char *path = realpath(file, NULL);
	autofree char *fresh = path ? mem_format("%.*s/.vgpu-lease.XXXXXX", (int)(strrchr(path, '/') - path), path)
				    : NULL;
	autoclose int fd = fresh ? mkostemp(fresh, O_CLOEXEC) : -1;
	int n;

	if (fd < 0)
		return err_sys(err, errno, "%s: not changed", file);
	n = sys_write_all(fd, r->rewritten, r->rewritten_len);
	if (n == 0 && (was->st_uid != geteuid() || was->st_gid != getegid()) &&
	    fchown(fd, was->st_uid, was->st_gid) < 0)
		n = -errno;
	if (n == 0 && (fchmod(fd, was->st_mode & 07777) < 0 || fsync(fd) < 0 || rename(fresh, path) < 0))
		n = -errno;
	if (n < 0) {
		unlink(fresh);
		return err_sys(err, -n, "%s: not changed", file);
	}
	if (strncmp(path, "/" LIBVIRT_ETC "/", strlen("/" LIBVIRT_ETC "/")) == 0 ||
	    strncmp(path, "/run/libvirt/", strlen("/run/libvirt/")) == 0)
		out_warn("libvirt does not notice changes to its own files; run 'virsh define %s'", path);
	return 0;
}

/* Prints a document; on a terminal, without unprintable characters. */
static void print_document(const char *text)
{
	if (!term_stdout()->width) {
		fputs(text, stdout);
		return;
	}
	while (*text) {
		size_t n = strcspn(text, "\t\n");
		autofree char *part = mem_strndup(text, n), *safe = term_safe(part);

		fputs(safe, stdout);
		text += n;
		if (*text)
			putchar(*text++);
	}
}

/* Does the operand name a domain? False for "-", a path, NAME.xml or an existing file, and with --in-place. */
static bool is_domain(const struct cmd_call *call)
{
	const char *word = call->args.operands[0];
	size_t len = strlen(word);

	return !call->in_place && strcmp(word, "-") != 0 && !strchr(word, '/') &&
	       !(len > 4 && strcmp(word + len - 4, ".xml") == 0) && access(word, F_OK) < 0;
}

/* Redefines the domain. An edit between the comparison and virt_define() is lost, because libvirt cannot compare. */
static int define_if_same(const struct hotplug *hp, const struct rewrite *r, struct err *err)
{
	autofree char *now = NULL;

	if (virt_xml(hp->virt, hp->domain.uuid, VIRT_CONFIG, &now, err) < 0)
		return -err->code;
	if (strcmp(now, r->xml) != 0)
		return err_set(
			err, ESTALE,
			"domain %s: not changed, because its definition was edited meanwhile; run this command again",
			hp->domain.name);
	return virt_define(hp->virt, r->rewritten, err);
}

static int read_definition(struct cmd *cmd, char **xml, size_t *len, struct err *err)
{
	const struct virt_domain *domain = &cmd->hp.domain;

	if (cmd_open(cmd, CMD_LIBVIRT, err) < 0)
		return -err->code;
	if (!domain->persistent)
		return err_set(err, EPERM, "domain %s: transient, so it has no definition to change", domain->name);
	if (virt_xml(cmd->hp.virt, domain->uuid, VIRT_CONFIG, xml, err) < 0)
		return -err->code;
	*len = strlen(*xml);
	return 0;
}

static int run(struct cmd *cmd, struct err *err)
{
	const char *file = cmd->call->args.operands[0];
	const bool in_place = cmd->call->in_place, domain = is_domain(cmd->call);
	autofree char *xml = NULL;
	autorewrite struct rewrite rewrite = { .all = cmd->call->all };
	struct stat was = { .st_mode = 0600 }; /* a file that appears after the stat() below */
	struct err why;
	int r;

	if (in_place && strcmp(file, "-") == 0) {
		err_set(err, EINVAL, "--in-place requires a file, not standard input");
		return CMD_USAGE;
	}
	if (in_place && stat(file, &was) == 0 && !S_ISREG(was.st_mode)) {
		err_set(err, EOPNOTSUPP, "%s: not a regular file", file);
		return CMD_USAGE;
	}
	r = domain ? read_definition(cmd, &xml, &rewrite.len, err)
		   : cmd_read_xml(file, DOMXML_MAX, &xml, &rewrite.len, err);
	if (r != 0)
		return r;
	/* Without the host, the XML of a file gets no migration facts. */
	if (!domain && cmd_open(cmd, 0, &why) < 0)
		rewrite.unread = why;
	rewrite.xml = xml;
	rewrite.host = cmd->host.root >= 0 ? &cmd->host : NULL;
	if (rewrite_definition(&rewrite, rewrite.unread.code ? NULL : &cmd->config, err) < 0)
		return domain ? err_in(err, "domain %s", cmd->hp.domain.name) : err_in(err, "%s", cmd_file_name(file));
	if (rewrite.unread.code && domxml_request(rewrite.doc)->nvgpus)
		out_warn("%s; the XML gets no migration facts, and may keep a placeholder", rewrite.unread.text);
	if (!domain && !in_place) {
		print_document(rewrite.rewritten);
		return CMD_DONE;
	}
	if (rewrite.nchanges &&
	    (domain ? define_if_same(&cmd->hp, &rewrite, err) : replace_file(file, &was, &rewrite, err)) < 0)
		return -err->code;
	for (EACH(const struct domxml_change *, change, rewrite.changes, rewrite.nchanges))
		out_say("%s -> %s", domxml_request(rewrite.doc)->vgpus[change->req].id, change->id);
	return CMD_DONE;
}

const struct command cmd_rewrite = {
	.name = "rewrite",
	.operands = { "FILE|DOMAIN" },
	.options = CMD_ALL | CMD_IN_PLACE | CMD_CONNECT,
	.summary = "Replace the placeholders in a domain XML with UUIDs",
	.help = "FILE is a domain XML; - is standard input. If the argument is not a file but a\n"
		"DOMAIN of libvirt, change its definition, and print each replacement.\n"
		"\n"
		"A placeholder is 00000000-0000-0000-0000-0000000000NN and means \"lease a vGPU\n"
		"for this domain\", if the UUID has no device, mdevctl definition or lease on this\n"
		"host, and has had no lease. <vgpu:device> gets the facts for a migration, and a\n"
		"free VF in place of one with which the domain cannot start on this host.\n",
	.needs = CMD_BARE,
	.run = run,
};
