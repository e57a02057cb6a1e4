/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reads libvirt's files. */
#include "look/libvirt_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/text.h"
#include "sys/timed_child.h"

enum {
	NEEDLE_SIZE = 96,
	FILE_MAX = 64 << 20,     /* larger than any file that libvirt parses */
	SAVED_XML_MAX = 1 << 20, /* the first bytes of a saved image, which contain its XML */
};

#define PERSISTENT LIBVIRT_ETC "/qemu"
#define RUNNING "run/libvirt/qemu"
#define SAVED "var/lib/libvirt/qemu"

int libvirt_files_slurp(int dir, const char *name, char **text, size_t *len)
{
	struct stat st;
	bool is_link = fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode);
	/* A link can lead to storage that does not answer, so this read has a time limit. */
	ssize_t r = is_link ? timed_child_read("definitions", dir, name, NULL, 0) : 0;

	if (r < 0)
		return (int)r;
	autoclose int fd = openat(dir, name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	return S_ISREG(st.st_mode) ? sys_slurp(fd, FILE_MAX, text, len) : -ENOENT;
}

/* Adds a file, and takes over its name and text. */
static void add_file(struct libvirt_files *disk, const char *name, const char *text, size_t len, bool runs)
{
	struct libvirt_file *file = mem_add(&disk->list, &disk->n, sizeof(*file));

	*file = (struct libvirt_file){ .name = name, .text = text, .len = len, .runs = runs };
	file->past = memmem(text, len, "vfio-pci", strlen("vfio-pci"));
}

/* Adds the file if its name is NAME.xml. */
static int read_document(struct libvirt_files *disk, int dir, const char *file, bool runs)
{
	size_t name = strlen(file) > 4 ? strlen(file) - 4 : 0, len;
	bool is_domains = name && strcmp(file + name, ".xml") == 0;
	char *text = NULL;
	int r = is_domains ? libvirt_files_slurp(dir, file, &text, &len) : -ENOENT;

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	add_file(disk, mem_strndup(file, name), text, len, runs);
	return 0;
}

/* Records the first unreadable file (`file` NULL: directory). A status file (`runs`) is recorded in both slots. */
static void note_unread(struct libvirt_files *disk, const struct host *host, const char *path, const char *file,
			bool runs, int code)
{
	for (int i = 0; i < (runs ? 2 : 1); i++)
		if (!*disk->unread[i])
			snprintf(disk->unread[i], sizeof(disk->unread[i]), "%s/%s%s%s: %s", host->name, path,
				 file ? "/" : "", file ? file : "", err_describe(code));
}

static int read_directory(struct libvirt_files *disk, const struct host *host, const char *path, bool runs,
			  struct err *err)
{
	const struct dirent *e;
	autoclosedir DIR *d = NULL;
	int r = host_list(&d, host, path, err);
	/* Without the directory of definitions, libvirt may be in a stopped container, whose domains cannot be seen. */
	int code = r == 0 && !d && !runs && !*host->name ? ENOENT : -r;

	if (code)
		note_unread(disk, host, path, NULL, runs, code);
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
	const struct host view = host_of_libvirt(host);
	struct err later;
	int r, status;

	*out = mem_new(1, sizeof(**out));
	r = read_directory(*out, &view, PERSISTENT, false, err);
	status = read_directory(*out, host, RUNNING, true, r < 0 ? &later : err);
	return r < 0 ? r : status;
}

void libvirt_files_free(struct libvirt_files *disk)
{
	if (!disk)
		return;
	for (size_t i = 0; i < disk->n; i++) {
		free((char *)disk->list[i].name);
		free((char *)disk->list[i].text);
	}
	libvirt_files_free(disk->saved);
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
 * The texts by which a file can name an ID. A UUID is searched as it is. A VF is searched by its host address in a
 * hostdev, and by the forms in <qemu:commandline>, which can omit the PCI domain 0000. The address in the guest does
 * not match, because type='pci' comes before its domain=.
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

/* Adds a file up to the end of its XML. In a saved image, the XML is a NUL-terminated string between binary data. */
static int read_beginning(struct libvirt_files *saved, int dir, const char *name)
{
	autofree char *text = mem_alloc(SAVED_XML_MAX + 1);
	autoclose int fd = openat(dir, name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, SAVED_XML_MAX);
	const char *xml;
	size_t len;

	if (n < 0)
		return -errno;
	text[n] = '\0';
	xml = memmem(text, (size_t)n, "<domain", strlen("<domain"));
	len = xml ? (size_t)(xml - text) + strlen(xml) : (size_t)n;
	add_file(saved, mem_strdup(name), mem_resize(steal_ptr(&text), len + 1, 1), len, false);
	return 0;
}

/* Adds the files of a directory. `deeper`: also adds the files of its subdirectories, one for each domain. */
static void read_saved(struct libvirt_files *saved, int at, const char *path, bool deeper)
{
	autoclosedir DIR *d = sys_list(at, path);
	int r = d || errno == ENOENT || errno == ENOTDIR ? 0 : -errno;
	const char *file = path;
	const struct dirent *e;

	while (r == 0 && (e = sys_next(d))) {
		file = e->d_name;
		r = read_beginning(saved, sys_list_fd(d), file);
		if (r == -EISDIR && deeper)
			read_saved(saved, sys_list_fd(d), file, false);
		if (r == -EISDIR || r == -ENOENT || r == -ELOOP)
			r = 0;
	}
	if (r == 0 && d)
		r = -errno;
	if (r < 0)
		snprintf(saved->unread[0], sizeof(saved->unread[0]), "%.100s: %s", file, err_describe(-r));
}

bool libvirt_files_saved(struct libvirt_files *disk, const struct host *host, const char *id, char why[REASON_SIZE])
{
	const struct host view = host_of_libvirt(host);
	const char *file;

	if (!disk->saved) {
		disk->saved = mem_new(1, sizeof(*disk->saved));
		read_saved(disk->saved, view.root, SAVED "/save", false);
		read_saved(disk->saved, view.root, SAVED "/snapshot", true);
		read_saved(disk->saved, view.root, SAVED "/checkpoint", true);
	}
	file = libvirt_files_names(disk->saved, id, NULL);
	if (file)
		snprintf(why, REASON_SIZE, "a saved domain names it: %.200s", file);
	else if (*disk->saved->unread[0])
		snprintf(why, REASON_SIZE, "cannot tell whether a saved domain names it: %.180s",
			 disk->saved->unread[0]);
	return file || *disk->saved->unread[0];
}

bool libvirt_files_mention(const struct libvirt_files *disk, const char *text, bool running)
{
	for (size_t i = 0; i < disk->n; i++)
		if ((disk->list[i].runs || !running) && holds(&disk->list[i], text))
			return true;
	return false;
}

/* The version is in the target of the link libvirt.so.0: libvirt 9.7.0 has libvirt.so.0.9007.0. */
int libvirt_files_libvirt(const struct host *host)
{
	static const char *const directories[] = { "usr/lib/x86_64-linux-gnu", "usr/lib64", "usr/lib/aarch64-linux-gnu",
						   "usr/lib" };

	for (size_t i = 0; i < ARRAY_SIZE(directories); i++) {
		char path[64], base[64];
		unsigned int major, minor;
		int end = 0;

		snprintf(path, sizeof(path), "%s/libvirt.so.0", directories[i]);
		if (sys_link(host->libvirt, path, base, sizeof(base)) == 0 &&
		    sscanf(base, "libvirt.so.0.%6u.%3u%n", &major, &minor, &end) == 2 && !base[end])
			return (int)(major * 1000 + minor);
	}
	return 0;
}

/* Does the domain with this UUID have a file? `running`: searches only status files. */
static bool has_uuid(const struct libvirt_files *disk, const char *domain_uuid, bool running)
{
	char uuid[UUID_SIZE], needle[NEEDLE_SIZE];

	if (!uuid_parse(uuid, domain_uuid))
		return false;
	snprintf(needle, sizeof(needle), "<uuid>%s</uuid>", uuid);
	return libvirt_files_mention(disk, needle, running);
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

/* Is this process libvirtd or virtqemud, and does it run as root? */
static bool is_daemon(pid_t pid, char comm[LIBVIRT_COMM_SIZE])
{
	char path[32];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	if (stat(path, &st) < 0 || st.st_uid != 0)
		return false;
	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	return sys_read(AT_FDCWD, path, comm, LIBVIRT_COMM_SIZE) > 0 &&
	       (strcmp(comm, "libvirtd") == 0 || strcmp(comm, "virtqemud") == 0);
}

pid_t libvirt_read_pid(int dir, const char *path)
{
	char text[32];
	ssize_t n = sys_read(dir, path, text, sizeof(text));
	long pid;

	if (n < 0)
		return (pid_t)n;
	return text_number(text, 1, INT32_MAX, &pid) ? (pid_t)pid : 0;
}

pid_t libvirt_daemon(const struct host *host, char comm[LIBVIRT_COMM_SIZE])
{
	static const char *const files[] = { "run/libvirt/qemu/driver.pid", "run/libvirtd.pid", "run/virtqemud.pid" };
	bool denied = false;

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		pid_t pid = libvirt_read_pid(host->root, files[i]);

		denied |= pid == -EACCES;
		if (pid > 0 && is_daemon(pid, comm))
			return pid;
	}
	return denied ? -1 : 0;
}

int64_t libvirt_age_us(pid_t pid)
{
	int64_t ticks = (int64_t)sys_process_start(pid), per_s = 1000000;
	struct timespec up;

	/* The start time of a process counts time in suspend, as CLOCK_BOOTTIME does. */
	clock_gettime(CLOCK_BOOTTIME, &up);
	return up.tv_sec * per_s + up.tv_nsec / 1000 - ticks * per_s / sysconf(_SC_CLK_TCK);
}

bool libvirt_is_younger(const struct host *host, int64_t than_ms)
{
	char comm[LIBVIRT_COMM_SIZE];
	pid_t pid = than_ms ? libvirt_daemon(host, comm) : 0;

	return pid > 0 && libvirt_age_us(pid) / 1000 < sys_now_ms() - than_ms;
}

void libvirt_daemon_follow(struct host *host)
{
	char comm[LIBVIRT_COMM_SIZE], path[32];
	pid_t pid = *host->name ? 0 : libvirt_daemon(host, comm);
	int root = -1;

	if (pid > 0) {
		snprintf(path, sizeof(path), "/proc/%d/root", (int)pid);
		root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	}
	if (host->libvirt != host->root)
		close(host->libvirt);
	host->libvirt = root < 0 ? host->root : root;
}

/*
 * Is this the control group of a QEMU machine? With systemd, the path ends in machine-qemu\x2d1\x2dvm1.scope below
 * slices. Without systemd, the path ends in qemu-1-vm1.libvirt-qemu below machine or partitions. Groups in user.slice
 * or below other groups do not count, because users can create them.
 */
static bool is_machine(char *path)
{
	char *name;

	while ((name = strsep(&path, "/"))) {
		const char *dot = strrchr(name, '.');

		if (strcmp(name, "user.slice") == 0)
			return false;
		if (!*name || strcmp(name, "machine") == 0 ||
		    (dot && (strcmp(dot, ".slice") == 0 || strcmp(dot, ".partition") == 0)))
			continue;
		return dot && ((strncmp(name, "machine-qemu", 12) == 0 && strcmp(dot, ".scope") == 0) ||
			       strcmp(dot, ".libvirt-qemu") == 0);
	}
	return false;
}

bool libvirt_qemu_group(int proc, const char *pid)
{
	char path[NAME_MAX + 8], text[8192], *rest = text, *line;

	snprintf(path, sizeof(path), "%s/cgroup", pid);
	if (sys_read(proc, path, text, sizeof(text)) < 0)
		return false;
	/* Each line is HIERARCHY:CONTROLLERS:PATH. */
	while ((line = strsep(&rest, "\n"))) {
		line = strchr(line, ':');
		line = line ? strchr(line + 1, ':') : NULL;
		if (line && is_machine(line + 1))
			return true;
	}
	return false;
}

struct libvirt_qemu *libvirt_qemus(const struct host *host, size_t *n)
{
	const struct dirent *e;
	autoclosedir DIR *d = sys_list(host->libvirt, RUNNING);
	struct libvirt_qemu *list = NULL;

	*n = 0;
	while ((e = sys_next(d))) {
		const char *dot = strrchr(e->d_name, '.');
		pid_t pid = dot && strcmp(dot, ".pid") == 0 ? libvirt_read_pid(sys_list_fd(d), e->d_name) : 0;
		struct libvirt_qemu *qemu;

		if (pid <= 0)
			continue;
		qemu = mem_add(&list, n, sizeof(*qemu));
		qemu->pid = pid;
		snprintf(qemu->domain, sizeof(qemu->domain), "%.*s", (int)(dot - e->d_name), e->d_name);
	}
	return list;
}
