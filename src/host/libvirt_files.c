/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reads what libvirt keeps in files. */
#include "host/libvirt_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/text.h"
#include "sys/timed_child.h"

enum {
	NEEDLE_SIZE = 96,
	FILE_MAX = 64 << 20,     /* more than libvirt parses */
	SAVED_XML_MAX = 1 << 20, /* in this beginning of a saved image, its XML is searched */
};

#define PERSISTENT LIBVIRT_ETC "/qemu"
#define RUNNING "run/libvirt/qemu"
#define SAVED "var/lib/libvirt/qemu"

/* "vm1" for "vm1.xml"; NULL: not a domain's file. The caller frees it. */
static char *domain_name(const char *file)
{
	size_t n = strlen(file);

	if (n <= 4 || strcmp(file + n - 4, ".xml") != 0)
		return NULL;
	return mem_format("%.*s", (int)n - 4, file);
}

int libvirt_files_slurp(int dir, const char *name, char **text, size_t *len)
{
	struct stat st;
	bool is_link = fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode);
	/* Does the link's storage answer? */
	ssize_t r = is_link ? timed_child_read("definitions", dir, name, NULL, 0) : 0;

	if (r < 0)
		return (int)r;
	autoclose int fd = openat(dir, name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	return S_ISREG(st.st_mode) ? sys_slurp(fd, FILE_MAX, text, len) : -ENOENT;
}

/* Reads one file of a directory, and skips files that are not a domain's. */
static int read_document(struct libvirt_files *disk, int dir, const char *file, bool runs)
{
	autofree char *name = domain_name(file);
	char *text = NULL;
	struct libvirt_file doc = { .runs = runs };
	int r;

	if (!name)
		return 0;
	r = libvirt_files_slurp(dir, file, &text, &doc.len);
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	doc.name = steal_ptr(&name);
	doc.text = text;
	doc.past = memmem(text, doc.len, "vfio-pci", strlen("vfio-pci"));
	*(struct libvirt_file *)mem_add(&disk->list, &disk->n, sizeof(doc)) = doc;
	return 0;
}

/* Records an unreadable file; the other files are still read. */
static void note_unread(struct libvirt_files *disk, const struct host *host, const char *path, const char *file,
			bool runs, int code)
{
	for (int i = 0; i < (runs ? 2 : 1); i++)
		if (!*disk->unread[i])
			snprintf(disk->unread[i], sizeof(disk->unread[i]), "%s/%s/%s: %s", host->name, path, file,
				 err_describe(code));
}

static int read_directory(struct libvirt_files *disk, const struct host *host, const char *path, bool runs,
			  struct err *err)
{
	const struct dirent *e;
	autoclosedir DIR *d = NULL;
	int r = host_list(&d, host, path, err);

	/* Without this directory, libvirt may be in a stopped container, whose domains cannot be seen. */
	if (r == 0 && !d && !runs && !*host->name)
		note_unread(disk, host, LIBVIRT_ETC, "qemu", runs, ENOENT);
	if (!d)
		return r;
	while ((e = sys_next(d))) {
		r = read_document(disk, sys_list_fd(d), e->d_name, runs);
		if (r < 0)
			note_unread(disk, host, path, e->d_name, runs, -r);
	}
	return errno ? err_sys(err, errno, "%s/%s", host->name, path) : 0;
}

int libvirt_files_read(struct libvirt_files **out, const struct host *host, struct err *err)
{
	struct libvirt_files *disk = mem_new(1, sizeof(*disk));
	const struct host view = host_of_libvirt(host);

	*out = disk;
	if (read_directory(disk, &view, PERSISTENT, false, err) == 0 &&
	    read_directory(disk, host, RUNNING, true, err) == 0)
		return 0;
	libvirt_files_free(disk);
	*out = NULL;
	return -err->code;
}

void libvirt_files_free(struct libvirt_files *disk)
{
	if (!disk)
		return;
	for (size_t i = 0; i < disk->n; i++) {
		free((char *)disk->list[i].name);
		free((char *)disk->list[i].text);
	}
	free(disk->list);
	free(disk);
}

/* Does the file contain the text, ignoring case? The search continues after each NUL byte. */
static bool holds(const struct libvirt_file *doc, const char *needle)
{
	const char *end = doc->text + doc->len;

	for (const char *s = doc->text; s < end; s += strlen(s) + 1)
		if (strcasestr(s, needle))
			return true;
	return false;
}

/*
 * How a file can name this ID: a UUID as it is; a VF by its hostdev's host address (the guest's address has type='pci'
 * before the domain), or in <qemu:commandline>, where the domain 0000 can be left out.
 */
enum { NEEDLES = 6 };

static bool needles_of(char needles[NEEDLES][NEEDLE_SIZE], const char *id)
{
	char uuid[UUID_SIZE], pci[PCI_SIZE];
	unsigned domain, bus, slot, function;
	size_t n = 0;

	memset(needles, 0, NEEDLES * sizeof(*needles));
	if (uuid_parse(uuid, id))
		return text_copy(needles[0], NEEDLE_SIZE, uuid);
	if (!pci_parse(pci, id) || sscanf(pci, "%x:%x:%x.%x", &domain, &bus, &slot, &function) != 4)
		return false;
	snprintf(needles[n++], NEEDLE_SIZE, "<address domain='0x%04x' bus='0x%02x' slot='0x%02x' function='0x%x'",
		 domain, bus, slot, function);
	snprintf(needles[n++], NEEDLE_SIZE, "/%s", pci);
	for (const char *given = pci; given; given = given == pci && domain == 0 ? pci + strlen("0000:") : NULL) {
		snprintf(needles[n++], NEEDLE_SIZE, "host=%s", given);
		snprintf(needles[n++], NEEDLE_SIZE, "&quot;%s&quot;", given);
	}
	return true;
}

static bool names(const struct libvirt_file *doc, char needles[NEEDLES][NEEDLE_SIZE])
{
	for (size_t n = 0; n < (doc->past ? NEEDLES : 1) && *needles[n]; n++)
		if (holds(doc, needles[n]))
			return true;
	return false;
}

const char *libvirt_files_names(const struct libvirt_files *disk, const char *id, const char *but)
{
	char needles[NEEDLES][NEEDLE_SIZE];

	if (!needles_of(needles, id))
		return NULL;
	for (size_t i = 0; i < disk->n; i++)
		if (!(but && strcmp(disk->list[i].name, but) == 0) && names(&disk->list[i], needles))
			return disk->list[i].name;
	return NULL;
}

/* Reads the beginning of a file. Returns its length, 0 for what is not a file, or a negative errno. */
static ssize_t read_beginning(int dir, const char *name, char text[SAVED_XML_MAX + 1])
{
	autoclose int fd = openat(dir, name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, SAVED_XML_MAX);

	if (n < 0)
		return errno == ENOENT || errno == EISDIR || errno == ELOOP ? 0 : -errno;
	text[n] = '\0';
	return n;
}

/* Searches the files of a directory. True, with `why`, if one names the ID, or if that is not known. */
static bool saved_in(int at, const char *path, char needles[NEEDLES][NEEDLE_SIZE], char why[REASON_SIZE])
{
	autofree char *text = mem_alloc(SAVED_XML_MAX + 1);
	autoclosedir DIR *d = sys_list(at, path);
	ssize_t n = d || errno == ENOENT || errno == ENOTDIR ? 0 : -errno;
	const char *file = path;
	const struct dirent *e;

	while (n >= 0 && (e = sys_next(d))) {
		struct libvirt_file doc = { .text = text };

		file = e->d_name;
		n = read_beginning(sys_list_fd(d), file, text);
		if (n <= 0)
			continue;
		doc.len = (size_t)n;
		doc.past = memmem(text, doc.len, "vfio-pci", strlen("vfio-pci"));
		if (!names(&doc, needles))
			continue;
		snprintf(why, REASON_SIZE, "a saved domain names it: %.200s", file);
		return true;
	}
	if (n < 0)
		snprintf(why, REASON_SIZE, "cannot tell whether a saved domain names it: %.100s: %s", file,
			 err_describe((int)-n));
	return n < 0;
}

bool libvirt_files_saved(const struct host *host, const char *id, char why[REASON_SIZE])
{
	static const char *const kept[] = { SAVED "/snapshot", SAVED "/checkpoint" };
	const struct host view = host_of_libvirt(host);
	char needles[NEEDLES][NEEDLE_SIZE];
	const struct dirent *e;

	why[0] = '\0';
	if (!needles_of(needles, id))
		return false;
	if (saved_in(view.root, SAVED "/save", needles, why))
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(kept); i++) {
		autoclosedir DIR *domains = sys_list(view.root, kept[i]);

		while ((e = sys_next(domains)))
			if (saved_in(sys_list_fd(domains), e->d_name, needles, why))
				return true;
	}
	return false;
}

bool libvirt_files_mention(const struct libvirt_files *disk, const char *text)
{
	for (size_t i = 0; i < disk->n; i++)
		if (holds(&disk->list[i], text))
			return true;
	return false;
}

/* libvirt 9.7.0 has the link libvirt.so.0 -> libvirt.so.0.9007.0, whose name encodes the version. */
int libvirt_files_libvirt(const struct host *host)
{
	static const char *const directories[] = { "usr/lib/x86_64-linux-gnu", "usr/lib64", "usr/lib/aarch64-linux-gnu",
						   "usr/lib" };

	for (size_t i = 0; i < ARRAY_SIZE(directories); i++) {
		char path[64], base[64], *micro;
		long major, minor;

		snprintf(path, sizeof(path), "%s/libvirt.so.0", directories[i]);
		if (sys_link(host->libvirt, path, base, sizeof(base)) < 0 || strncmp(base, "libvirt.so.0.", 13) != 0)
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

/* Does the domain with this UUID have a file (`running`: a status file)? */
static bool has_uuid(const struct libvirt_files *disk, const char *domain_uuid, bool running)
{
	char uuid[UUID_SIZE], needle[NEEDLE_SIZE];

	if (!uuid_parse(uuid, domain_uuid))
		return false;
	snprintf(needle, sizeof(needle), "<uuid>%s</uuid>", uuid);
	for (size_t i = 0; i < disk->n; i++)
		if ((disk->list[i].runs || !running) && holds(&disk->list[i], needle))
			return true;
	return false;
}

bool libvirt_files_runs(const struct libvirt_files *disk, const char *domain_uuid)
{
	return has_uuid(disk, domain_uuid, true);
}

bool libvirt_files_has(const struct libvirt_files *disk, const char *domain)
{
	char uuid[UUID_SIZE];

	if (uuid_parse(uuid, domain))
		return has_uuid(disk, uuid, false);
	for (size_t i = 0; i < disk->n; i++)
		if (strcmp(disk->list[i].name, domain) == 0)
			return true;
	return false;
}

bool libvirt_files_has_status(const struct host *host, const char *name)
{
	autofree char *path = mem_format(RUNNING "/%s.xml", name);

	return sys_exists(host->root, path) || errno != ENOENT;
}

const char *libvirt_files_unread(const struct libvirt_files *disk, bool running)
{
	return *disk->unread[running] ? disk->unread[running] : NULL;
}
