/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What libvirt and mdevctl keep in files. */
#include "ondisk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "auto.h"
#include "file.h"
#include "text.h"

enum { FILE_MAX = 16 << 20 };

#define PERSISTENT "etc/libvirt/qemu"
#define RUNNING "run/libvirt/qemu"

struct document {
	char *name; /* the file's, without .xml, printable */
	char *text; /* NUL-terminated; a file with a NUL byte in it is searched to its end, too */
	size_t len;
	bool runs; /* a status file of a running domain */
};

struct ondisk {
	struct document *documents;
	size_t n;
};

/* "vm1" of "vm1.xml"; NULL where it is no such file. The caller frees it. */
static char *domain_name(const char *file)
{
	size_t n = strlen(file);
	char *name, raw[NAME_MAX + 1];

	if (n <= 4 || n > NAME_MAX || file[0] == '.' || strcmp(file + n - 4, ".xml") != 0)
		return NULL;
	memcpy(raw, file, n - 4);
	raw[n - 4] = '\0';
	name = malloc(4 * n); /* each byte can become \xNN */
	if (name)
		text_safe(name, 4 * n, raw);
	return name;
}

/*
 * Opens a regular file; -ENOENT also where it is something else, which libvirt does not read either. A link is
 * followed, as libvirt does: definitions can lie on a storage that hosts share.
 */
static int open_regular(int dir, const char *name)
{
	autoclose int fd = openat(dir, name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0)
		return -errno;
	return S_ISREG(st.st_mode) ? steal_fd(&fd) : -ENOENT;
}

/* Reads one file of a folder; those that are no domain's are passed over. */
static int read_document(struct ondisk *disk, int dir, const char *file, bool runs)
{
	autofree char *name = domain_name(file);
	struct document *more, doc = { .runs = runs };
	int r;

	if (!name)
		return 0;
	autoclose int fd = open_regular(dir, file);
	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	more = reallocarray(disk->documents, disk->n + 1, sizeof(*more));
	if (!more)
		return -ENOMEM;
	disk->documents = more;
	r = file_slurp(fd, FILE_MAX, &doc.text, &doc.len);
	if (r < 0)
		return r;
	doc.name = steal_ptr(&name);
	disk->documents[disk->n++] = doc;
	return 0;
}

static int read_folder(struct ondisk *disk, const struct host *host, const char *path, bool runs, struct err *err)
{
	const struct dirent *e;
	int r, fd = file_dir(host->root, path);

	if (fd == -ENOENT)
		return 0;
	autoclosedir DIR *d = fd < 0 ? NULL : fdopendir(fd);
	if (!d)
		return err_sys(err, fd < 0 ? -fd : errno, "%s/%s", host->name, path);
	while ((errno = 0, e = readdir(d))) {
		r = read_document(disk, fd, e->d_name, runs);
		if (r < 0)
			return err_sys(err, -r, "cannot tell which vGPUs are named: %s/%s/%s", host->name, path,
				       e->d_name);
	}
	if (errno)
		return err_sys(err, errno, "%s/%s", host->name, path);
	return 0;
}

int ondisk_read(struct ondisk **out, const struct host *host, struct err *err)
{
	struct ondisk *disk = calloc(1, sizeof(*disk));
	int r;

	*out = NULL;
	if (!disk)
		return err_sys(err, ENOMEM, "reading libvirt's files");
	r = read_folder(disk, host, PERSISTENT, false, err);
	if (r == 0)
		r = read_folder(disk, host, RUNNING, true, err);
	if (r < 0) {
		ondisk_free(disk);
		return r;
	}
	*out = disk;
	return 0;
}

void ondisk_free(struct ondisk *disk)
{
	if (!disk)
		return;
	for (size_t i = 0; i < disk->n; i++) {
		free(disk->documents[i].name);
		free(disk->documents[i].text);
	}
	free(disk->documents);
	free(disk);
}

/* Does the document hold this text, in whatever case? One NUL byte does not hide what is behind it. */
static bool holds(const struct document *doc, const char *needle)
{
	const char *s = doc->text, *end = doc->text + doc->len;

	for (; s < end; s += strlen(s) + 1)
		if (strcasestr(s, needle))
			return true;
	return false;
}

const char *ondisk_names(const struct ondisk *disk, const char *id, const char *but)
{
	char uuid[UUID_SIZE], pci[PCI_SIZE], needle[96];
	unsigned domain, bus, slot, function;

	if (uuid_parse(uuid, id))
		text_copy(needle, sizeof(needle), uuid);
	else if (pci_parse(pci, id) && sscanf(pci, "%x:%x:%x.%x", &domain, &bus, &slot, &function) == 4)
		/* The host's address of a hostdev; the guest's has type='pci' before the domain. */
		snprintf(needle, sizeof(needle), "<address domain='0x%04x' bus='0x%02x' slot='0x%02x' function='0x%x'",
			 domain, bus, slot, function);
	else
		return NULL;
	for (size_t i = 0; i < disk->n; i++)
		if (!(but && strcmp(disk->documents[i].name, but) == 0) && holds(&disk->documents[i], needle))
			return disk->documents[i].name;
	return NULL;
}

/* libvirt.so.0 is a link to libvirt.so.0.9007.0 where libvirt is 9.7.0: its libtool version is its own. */
int ondisk_libvirt(const struct host *host)
{
	static const char *const folders[] = { "usr/lib/x86_64-linux-gnu", "usr/lib64", "usr/lib/aarch64-linux-gnu",
					       "usr/lib" };

	for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
		char path[64], base[64], *micro;
		long major, minor;

		snprintf(path, sizeof(path), "%s/libvirt.so.0", folders[i]);
		if (file_link_base(host->root, path, base, sizeof(base)) < 0 || strncmp(base, "libvirt.so.0.", 13) != 0)
			continue;
		micro = strchr(base + 13, '.');
		if (!micro)
			continue;
		*micro++ = '\0';
		if (text_number(base + 13, 1, 1000000, &major) && text_number(micro, 0, 999, &minor))
			return (int)(major * 1000 + minor);
	}
	return 0;
}

bool ondisk_runs(const struct ondisk *disk, const char *domain_uuid)
{
	char uuid[UUID_SIZE], needle[64];

	if (!uuid_parse(uuid, domain_uuid))
		return false;
	snprintf(needle, sizeof(needle), "<uuid>%s</uuid>", uuid);
	for (size_t i = 0; i < disk->n; i++)
		if (disk->documents[i].runs && holds(&disk->documents[i], needle))
			return true;
	return false;
}
