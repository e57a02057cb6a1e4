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
	FILE_MAX = 64 << 20,     /* larger than any file that libvirt writes */
	SAVED_XML_MAX = 1 << 20, /* the first bytes of a saved image, which contain its XML */
};

#define PERSISTENT LIBVIRT_ETC "/qemu"
#define RUNNING "run/libvirt/qemu"
#define SAVES "var/lib/libvirt/qemu"

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

/* Reads up to the end of the XML. In a saved image, the XML is a NUL-terminated string between binary data. */
static int read_beginning(int dir, const char *name, char **text, size_t *len)
{
	autofree char *image = mem_alloc(SAVED_XML_MAX + 1);
	autoclose int fd = openat(dir, name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, image, SAVED_XML_MAX);
	const char *xml;

	if (n < 0)
		return errno == ELOOP ? -ENOENT : -errno;
	image[n] = '\0';
	xml = memmem(image, (size_t)n, "<domain", strlen("<domain"));
	*len = xml ? (size_t)(xml - image) + strlen(xml) : (size_t)n;
	*text = mem_resize(steal_ptr(&image), *len + 1, 1);
	return 0;
}

/* SNAPSHOTS: a directory with subdirectories of SAVED files, one for each domain. */
enum kind { DEFINITION, STATUS, SAVED, SNAPSHOTS };

/* Adds a file of the directory. Definitions and status files have the name DOMAIN.xml; others are skipped. */
static int read_file(struct libvirt_files *files, int dir, const char *name, enum kind kind)
{
	size_t end = strlen(name), len = 0;
	char *text = NULL;
	int r = -ENOENT;

	if (kind >= SAVED) {
		r = read_beginning(dir, name, &text, &len);
	} else if (end > 4 && strcmp(name + end - 4, ".xml") == 0) {
		end -= 4;
		r = libvirt_files_slurp(dir, name, &text, &len);
	}
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	*(struct libvirt_file *)mem_add(&files->list, &files->n, sizeof(*files->list)) = (struct libvirt_file){
		.name = mem_strndup(name, end),
		.text = text,
		.len = len,
		.runs = kind == STATUS,
		.past = memmem(text, len, "vfio-pci", strlen("vfio-pci"))
	};
	return 0;
}

/* Records the first unreadable file or directory. */
static void note_unread(struct libvirt_files *files, const struct host *host, const char *path, enum kind kind,
			int code)
{
	for (int i = 0; i < (kind == STATUS ? 2 : 1); i++)
		if (!*files->unread[i])
			snprintf(files->unread[i], sizeof(files->unread[i]), "%s/%s: %s", host->name, path,
				 err_describe(code));
}

static int read_directory(struct libvirt_files *files, const struct host *host, const char *path, enum kind kind,
			  struct err *err)
{
	const struct dirent *e;
	autoclosedir DIR *d = NULL;
	int r = host_list(&d, host, path, err);

	while ((e = sys_next(d))) {
		autofree char *file = mem_format("%s/%s", path, e->d_name);
		int code = -read_file(files, sys_list_fd(d), e->d_name, kind);
		struct err noted;

		if (code == EISDIR && kind == SNAPSHOTS)
			read_directory(files, host, file, SAVED, &noted);
		else if (code && !(code == EISDIR && kind == SAVED))
			note_unread(files, host, file, kind, code);
	}
	if (errno)
		r = err_sys(err, errno, "%s/%s", host->name, path);
	/* Without the directory of definitions, libvirt may be in a stopped container, whose domains cannot be seen. */
	if (r < 0 || (!d && kind == DEFINITION && !*host->name))
		note_unread(files, host, path, kind, r < 0 ? -r : ENOENT);
	return r;
}

int libvirt_files_read(struct libvirt_files **out, const struct host *host, struct err *err)
{
	const struct host view = host_of_libvirt(host);
	struct err later;
	int r, status;

	*out = mem_new(1, sizeof(**out));
	r = read_directory(*out, &view, PERSISTENT, DEFINITION, err);
	status = read_directory(*out, host, RUNNING, STATUS, r < 0 ? &later : err);
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

bool libvirt_files_saved(struct libvirt_files *disk, const struct host *host, const char *id, char why[REASON_SIZE])
{
	const struct host view = host_of_libvirt(host);
	const char *file, *unread;
	struct err noted;

	if (!disk->saved) {
		disk->saved = mem_new(1, sizeof(*disk->saved));
		read_directory(disk->saved, &view, SAVES "/save", SAVED, &noted);
		read_directory(disk->saved, &view, SAVES "/snapshot", SNAPSHOTS, &noted);
		read_directory(disk->saved, &view, SAVES "/checkpoint", SNAPSHOTS, &noted);
	}
	file = libvirt_files_names(disk->saved, id, NULL);
	unread = libvirt_files_unread(disk->saved, false);
	if (file)
		snprintf(why, REASON_SIZE, "a saved domain names it: %.200s", file);
	else if (unread)
		snprintf(why, REASON_SIZE, "cannot tell whether a saved domain names it: %.180s", unread);
	return file || unread;
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

bool libvirt_files_has(const struct libvirt_files *disk, const char *domain, bool running)
{
	char uuid[UUID_SIZE], needle[NEEDLE_SIZE];

	if (uuid_parse(uuid, domain)) {
		snprintf(needle, sizeof(needle), "<uuid>%s</uuid>", uuid);
		return libvirt_files_mention(disk, needle, running);
	}
	for (EACH(const struct libvirt_file *, file, disk->list, disk->n))
		if ((file->runs || !running) && strcmp(file->name, domain) == 0)
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
