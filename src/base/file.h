/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Files by directory descriptor: reads with a cap, single writes, files that appear whole.
 *
 * Nothing here follows a symbolic link in the last component unless it says so. All descriptors are close-on-exec.
 */
#pragma once

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * First thing in every program: a closed standard descriptor would be given to the next file that is opened. Reads and
 * writes of these fail, as they should. Ends the program if that cannot be done.
 */
void file_hold_standard(void);

/*
 * Reads a small file (a sysfs attribute, a record) into buf[size], ended with NUL, trailing white space cut.
 * Returns its length; -EFBIG where it does not fit, -EINVAL where it holds a NUL byte, or the errno of open or read.
 */
ssize_t file_read(int dir, const char *path, char *buf, size_t size);

/*
 * Reads all of a stream, at most `max` bytes, into memory that the caller frees; a NUL follows. -EFBIG where there is
 * more.
 */
int file_slurp(int fd, size_t max, char **out, size_t *len);

/* Opens the file, whatever the link at `path` leads to, and reads a byte: 0, or a negative errno. It may hang. */
int file_probe(int dir, const char *path);

/*
 * Writes `len` bytes to an existing file in one write(2), as sysfs requires; never creates, never truncates.
 * The errno is that of the write: a kernel driver's own word.
 */
int file_poke(int dir, const char *path, const char *data, size_t len);

/* Writes all of `data` to an open file or pipe, in as many writes as it takes. */
int file_write_all(int fd, const char *data, size_t len);

/*
 * Makes the file `name` (mode 0644, whatever the umask) appear in `dir` with all of `data` or not at all, whenever the
 * process dies; with `replace` it takes the place of one that is there, else -EEXIST. The leftover of a writer that was
 * killed is ".NAME.new" and is overwritten by the next. Callers hold the lock of the directory.
 */
int file_publish(int dir, const char *name, const char *data, size_t len, bool replace);

/*
 * The same for a small text that is there already, where there is no space for another file: in its place, in one write
 * to one page, which a kill does not break up; what was longer is filled up with empty lines, which file_read() cuts.
 * Who reads it without the lock meanwhile can see a mixture. -ENOSPC: it is larger than FILE_OVERWRITE_MAX.
 */
enum { FILE_OVERWRITE_MAX = 4096 };
int file_overwrite(int dir, const char *name, const char *data, size_t len);

/* The last component of what the symbolic link points to, in buf[size]. */
int file_link_base(int dir, const char *path, char *buf, size_t size);

/*
 * Opens a directory for reading; negative errno. Symbolic links are followed, also the last one: sysfs is made of them.
 */
int file_dir(int dir, const char *path);

/*
 * The same, to be listed; NULL and errno. ENOENT also if `dir` is negative: what is in a missing directory is missing.
 */
DIR *file_list(int dir, const char *path);
/* The descriptor of what it has opened, which stays its own. */
int file_list_fd(DIR *d);

/*
 * Opens a directory of our own, made if it is missing; -EPERM if it is not ours or others may write to it. All may read
 * it (0755).
 */
int file_own_dir(int dir, const char *path);
