/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reads libvirt's files, to find which domains name a device and which domains run. The files are searched as text. A
 * UUID anywhere in a file counts as named, which errs on the safe side.
 *
 * By its pid files, finds libvirt's daemon, the daemon's root directory, and the QEMUs that libvirt runs. Trusts only
 * files that only root can write.
 *
 * Kolla and OpenStack-Helm run libvirt in a container, which shares /run, /sys, /dev and processes with the host, but
 * has its own /etc. The definitions of domains and mdevs are then in the container, and not in the host's /etc.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"
#include "model/vgpu.h"
#include "sys/sys.h"

struct libvirt_file {
	const char *name; /* the domain's name, from NAME.xml; in `saved`: the file's name */
	const char *text; /* NUL-terminated, and may contain NUL bytes */
	size_t len;
	bool runs; /* a status file of a running domain */
	bool past; /* contains "vfio-pci", so <qemu:commandline> may give QEMU a device past libvirt */
};

/* All files LIBVIRT_ETC/qemu/NAME.xml and run/libvirt/qemu/NAME.xml. A running domain can have both. */
struct libvirt_files {
	struct libvirt_file *list;
	size_t n;
	char unread[2][256];         /* the first unreadable file: [0] of all files, [1] of status files; "": none */
	struct libvirt_files *saved; /* the files that libvirt_files_saved() searches; NULL: not read yet */
};

/*
 * Reads all files. Fails if a directory cannot be listed; *out then has the other files. An unreadable file, or a file
 * larger than 64 MiB, is not an error: see libvirt_files_unread(). A missing directory counts as empty. On a real host,
 * a missing directory of definitions is recorded as unreadable, because libvirt may be in a stopped container.
 */
int libvirt_files_read(struct libvirt_files **out, const struct host *host, struct err *err);
void libvirt_files_free(struct libvirt_files *disk);

/*
 * Returns the name of a domain whose file names this ID; NULL: none. Skips the file of the domain `but`, which may be
 * NULL. Ignores case. Finds a PCI address in libvirt's notation, and in <qemu:commandline>.
 */
const char *libvirt_files_names(const struct libvirt_files *disk, const char *id, const char *but);

/*
 * Does a domain's managed save, snapshot or checkpoint name this ID? True also if a file is unreadable. Sets `why` to
 * the file or the error. The first call reads all these files, so make this check last.
 */
bool libvirt_files_saved(struct libvirt_files *disk, const struct host *host, const char *id, char why[REASON_SIZE]);

/* Does a file contain this text? `running`: searches only status files. */
bool libvirt_files_mention(const struct libvirt_files *disk, const char *text, bool running);

/* The version of the installed libvirt (9007000 is 9.7.0); 0: not known. */
int libvirt_files_libvirt(const struct host *host);

/* Does this domain, a UUID or a name, have a file? `running`: searches only status files. */
bool libvirt_files_has(const struct libvirt_files *disk, const char *domain, bool running);

static inline bool libvirt_files_runs(const struct libvirt_files *disk, const char *domain)
{
	return libvirt_files_has(disk, domain, true);
}

/*
 * Reads the text of a definition; the caller frees it. Follows links, as libvirt does, because hosts can share
 * definitions on common storage. -ENOENT: missing or not a regular file; -EFBIG: larger than 64 MiB; -ETIMEDOUT: the
 * storage of a link does not answer; other: the errno of the read.
 */
int libvirt_files_slurp(int dir, const char *name, char **text, size_t *len);

/* Does a domain with this name have a status file? True also if that is not known. */
bool libvirt_files_has_status(const struct host *host, const char *name);

/*
 * Returns the first unreadable file and the reason; NULL: all files were read. Check this before a removal, because an
 * unreadable file may name any device. `running`: checks only status files.
 */
const char *libvirt_files_unread(const struct libvirt_files *disk, bool running);

enum { LIBVIRT_COMM_SIZE = 16 };

/*
 * Returns the daemon's pid, and sets `comm` to its name, libvirtd or virtqemud. 0: no daemon runs; negative: not known.
 * A pid file can be stale, so a process counts only if root runs it under one of these names.
 */
pid_t libvirt_daemon(const struct host *host, char comm[LIBVIRT_COMM_SIZE]);

/* The age of this process, in microseconds. */
int64_t libvirt_age_us(pid_t pid);

/* Did the running daemon start after this time (sys_now_ms())? False if the time is 0 or no daemon runs. */
bool libvirt_is_younger(const struct host *host, int64_t than_ms);

/*
 * Sets host->libvirt to the root directory of the running daemon. If no daemon runs or permission is denied, sets it to
 * the host's root. The hook must not call this: it already runs in the daemon's root, and AppArmor would deny the
 * access. A host below --root has no daemon.
 */
void libvirt_daemon_follow(struct host *host);

/* The pid in a pid file; 0: not a pid; negative: the errno of the read. */
pid_t libvirt_read_pid(int dir, const char *path);

/* A QEMU for which libvirt has a pid file. A long domain name is cut. */
struct libvirt_qemu {
	pid_t pid;
	char domain[64];
};

/* Lists the QEMUs for which libvirt has a pid file. The caller frees the list, which may be NULL. */
struct libvirt_qemu *libvirt_qemus(const struct host *host, size_t *n);

/* Is this process in the control group of a QEMU machine? `proc` is a descriptor of /proc. */
bool libvirt_qemu_group(int proc, const char *pid);
