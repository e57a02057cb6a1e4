/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reads libvirt's files: which domains name a device, and which domains run. Read only.
 *
 * The files are searched as text: a UUID anywhere in a file counts as named by it, which errs on the safe side.
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
	bool past; /* has "vfio-pci", so <qemu:commandline> may give QEMU a device past libvirt */
};

/* All of LIBVIRT_ETC/qemu/ *.xml and run/libvirt/qemu/ *.xml, read once. A running domain can have two files. */
struct libvirt_files {
	struct libvirt_file *list;
	size_t n;
	char unread[2][256];         /* the first that is unreadable: [0] of all files, [1] of status files; "": none */
	struct libvirt_files *saved; /* what libvirt_files_saved() searches; NULL: not read yet */
};

/*
 * Reads all files. A missing directory counts as empty below --root; on the real host it is recorded as unreadable,
 * because libvirt may be in a stopped container. Fails if a directory cannot be listed: then it counts as unreadable,
 * and *out has the rest. An unreadable file, or one of more than 64 MiB, does not fail: see libvirt_files_unread().
 */
int libvirt_files_read(struct libvirt_files **out, const struct host *host, struct err *err);
void libvirt_files_free(struct libvirt_files *disk);

/*
 * The domain (file name without .xml) whose file names this ID; NULL: none. The file of domain `but` (unless NULL) does
 * not count. Case does not matter. PCI addresses are searched in libvirt's notation.
 */
const char *libvirt_files_names(const struct libvirt_files *disk, const char *id, const char *but);

/*
 * Does a domain's snapshot, checkpoint or managed save name this ID, which its definition may no longer name? Also true
 * if that is not known; `why` has the file or the error. The first call reads all these files, so check this last.
 */
bool libvirt_files_saved(struct libvirt_files *disk, const struct host *host, const char *id, char why[REASON_SIZE]);

bool libvirt_files_mention(const struct libvirt_files *disk, const char *text);

/* The version of the installed libvirt (9007000 is 9.7.0); 0: not known. */
int libvirt_files_libvirt(const struct host *host);

/* Does this domain have a file? A `domain` that looks like a UUID is a UUID, else it is a name. */
bool libvirt_files_has(const struct libvirt_files *disk, const char *domain);

/* Does libvirt run this domain, i.e. does a status file run/libvirt/qemu/NAME.xml have this UUID? */
bool libvirt_files_runs(const struct libvirt_files *disk, const char *domain_uuid);

/*
 * Reads the text of a definition; the caller frees it. Follows links, as libvirt does: hosts can share definitions on
 * common storage. -ENOENT: missing or not a regular file, which libvirt does not read either; -ETIMEDOUT: a link leads
 * to storage that does not answer.
 */
int libvirt_files_slurp(int dir, const char *name, char **text, size_t *len);

/* Does a domain with this name have a status file? A quick check that reads no file. */
bool libvirt_files_has_status(const struct host *host, const char *name);

/*
 * The first unreadable file and the reason; NULL: all were read. An unreadable file may name any device, so check this
 * before a removal. `running`: checks only status files; an unreadable status file may be any domain's.
 */
const char *libvirt_files_unread(const struct libvirt_files *disk, bool running);
