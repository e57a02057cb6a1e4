/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The domains that libvirt has defined: metadata without effect. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "internal.h"
#include "base/auto.h"
#include "domain/domxml.h"
#include "base/file.h"
#include "survey/remark.h"
#include "base/text.h"

#define DEFINED "etc/libvirt/qemu"

enum { SHOWN_SIZE = 4 * 256 /* each byte can become \xNN */ };

/* What a remark is about. */
struct about {
	struct check *check;
	const char *path;
};

static void report(void *arg, const char *text, const char *fix)
{
	const struct about *about = arg;

	check_report(check_at_path(about->check, about->path), CHECK_WARN, fix, "%s", text);
}

static bool is_definition(const char *name)
{
	size_t n = strlen(name);

	return n > 4 && name[0] != '.' && strcmp(name + n - 4, ".xml") == 0;
}

/* A readable file that may concern us; libvirt reports those that it cannot read itself. */
static int read_definition(int dir, const char *name, char **xml, size_t *len)
{
	autoclose int fd = openat(dir, name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || file_slurp(fd, DOMXML_MAX, xml, len) < 0)
		return -1;
	/* A misspelt namespace is one of the remarks. */
	return domxml_concerns(*xml, *len) || memmem(*xml, *len, "vgpu", 4) ? 0 : -1;
}

/* Is it a domain with something of ours in it? */
static bool look_at(struct check *check, int dir, const char *name)
{
	char path[sizeof(DEFINED) + SHOWN_SIZE], safe[SHOWN_SIZE];
	struct about about = { .check = check, .path = path };
	autofree char *xml = NULL;
	autodomxml struct domxml *doc = NULL;
	struct err ignored;
	size_t len;

	if (read_definition(dir, name, &xml, &len) < 0 ||
	    domxml_parse(&doc, xml, len, DOMXML_FILE | DOMXML_REMARKS, &ignored) < 0)
		return false;
	text_safe(safe, sizeof(safe), name);
	snprintf(path, sizeof(path), "%s/%s", DEFINED, safe);
	remark_domain(doc, check->host, report, &about);
	return true;
}

void check_domains(struct check *check)
{
	size_t found = 0, noted = check->n;
	autoclosedir DIR *dir = file_list(check->host->libvirt, DEFINED);
	const struct dirent *e;

	while (dir && (e = readdir(dir)))
		if (is_definition(e->d_name))
			found += look_at(check, file_list_fd(dir), e->d_name);
	if (found && check->n == noted)
		check_report(check_at_path(check, DEFINED), CHECK_PASS, NULL,
			     "metadata of %zu definition%s without remarks", found, found == 1 ? "" : "s");
}
