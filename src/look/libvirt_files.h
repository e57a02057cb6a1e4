/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reads libvirt's files, to find which domains name a device and which domains run. The files are searched as text. A
 * UUID anywhere in a file counts as named, which errs on the safe side.
 */
#pragma once

#include <stdbool.h>

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

/* Does this domain have a file? `domain` is a UUID or a name. */
bool libvirt_files_has(const struct libvirt_files *disk, const char *domain);

/* Does a status file have this UUID? */
bool libvirt_files_runs(const struct libvirt_files *disk, const char *domain_uuid);

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
