/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What libvirt keeps in files: domains that name a device, domains that run. Read
 * only.
 *
 * libvirt's files are taken as text: a UUID that stands anywhere in one of them counts as named by it, which errs on
 * the safe side.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/ident.h"
#include "sys/sys.h"

/* All of etc/libvirt/qemu/ *.xml and run/libvirt/qemu/ *.xml, read once. */
struct libvirt_files;

/*
 * A directory that is not there is an empty one below --root, and on the real host one that could not be read: libvirt
 * may be in a container that is stopped. One that cannot be listed is an error. A file that cannot be read fails
 * nobody: libvirt_files_unread() tells of it. A file may be as large as it likes: what is over 1 MiB is searched where
 * it lies, each time anew.
 */
int libvirt_files_read(struct libvirt_files **out, const struct host *host, struct err *err);
void libvirt_files_free(struct libvirt_files *disk);

/*
 * The domain (the file's name without .xml) whose file names this id, NULL if none does; the file of the domain `but`
 * does not count (NULL: all do). Case does not matter. PCI addresses are looked for as libvirt writes them.
 */
const char *libvirt_files_names(const struct libvirt_files *disk, const char *id, const char *but);

/* Does any file hold this text? */
bool libvirt_files_mention(const struct libvirt_files *disk, const char *text);

/* The version of the libvirt that is installed, 9007000 is 9.7.0; 0 where that cannot be told. */
int libvirt_files_libvirt(const struct host *host);

/* Is there a file of this domain, a UUID or a name? What looks like a UUID is one. */
bool libvirt_files_has(const struct libvirt_files *disk, const char *domain);

/* The name of the domain of the i-th file; NULL behind the last. One that runs can have two files. */
const char *libvirt_files_name(const struct libvirt_files *disk, size_t i);

/* One of the files. */
struct libvirt_file {
	const char *name; /* without .xml */
	const char *text; /* NULL: it is too large to be kept in memory */
	size_t len;
	bool runs; /* a status file */
};

/* The i-th file; false behind the last. What it points to lives as long as `disk`. */
bool libvirt_files_at(const struct libvirt_files *disk, size_t i, struct libvirt_file *out);

/* Does libvirt run this domain: is there a status file run/libvirt/qemu/NAME.xml whose domain has this UUID? */
bool libvirt_files_runs(const struct libvirt_files *disk, const char *domain_uuid);

/*
 * Is a definition, libvirt's or mdevctl's, on a storage that answers? One that is a link may lead to one that hangs. 0,
 * also if there is none; a negative errno. Before it is opened.
 */
int libvirt_files_answers(int dir, const char *name);

/* Is there a status file of a domain with this name? Quickly told, before anything is read. */
bool libvirt_files_has_status(const struct host *host, const char *name);

/*
 * The first file that could not be read, and why; NULL where all were. It may name any device: whoever would remove one
 * asks. `running`: of the status files alone; it may be that of any domain.
 */
const char *libvirt_files_unread(const struct libvirt_files *disk, bool running);
