/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* mdevctl's definitions: etc/mdevctl.d/PARENT/UUID. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/json.h"
#include "base/mem.h"
#include "host/mdevctl_files.h"
#include "base/text.h"
#include "sys/sys.h"

#define DEFINITIONS "etc/mdevctl.d"

enum { DEFINITION_MAX = 64 << 10, PATH_SIZE = PARENT_SIZE + UUID_SIZE + 16 };

/* Reads the text of a definition. 1: read; 0: there is none; negative: error. */
static int read_text(char **text, size_t *len, struct stat *st, const struct host *host, int dir, const char *path,
		     struct err *err)
{
	autoclose int fd = openat(dir, path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
	int r;

	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return 0;
	r = fd < 0 || fstat(fd, st) < 0 ? -errno : sys_slurp(fd, DEFINITION_MAX, text, len);
	return r < 0 ? err_sys(err, -r, "mdevctl's definition %s/" DEFINITIONS "/%s", host->name, path) : 1;
}

/* Reads one definition. 1: read; 0: there is none; negative: error. */
static int read_one(struct definition *out, const struct host *host, int dir, const char *parent, const char *uuid,
		    struct err *err)
{
	char path[PATH_SIZE], type[TYPE_SIZE], start[16];
	struct json_field fields[] = { { .key = "mdev_type", .value = type, .size = sizeof(type) },
				       { .key = "start", .value = start, .size = sizeof(start) } };
	autofree char *text = NULL;
	const char *wrong;
	struct stat st;
	size_t len = 0;
	int r;

	snprintf(path, sizeof(path), "%s/%s", parent, uuid);
	r = read_text(&text, &len, &st, host, dir, path, err);
	if (r <= 0)
		return r;
	wrong = json_read(text, len, fields, ARRAY_SIZE(fields));
	if (!wrong && !type_parse(out->type, type))
		wrong = fields[0].found ? "mdev_type is not a type ID" : "mdev_type is missing";
	if (wrong)
		return err_set(err, EINVAL, "mdevctl's definition %s/" DEFINITIONS "/%s is not valid: %s", host->name,
			       path, wrong);
	text_copy(out->uuid, sizeof(out->uuid), uuid);
	text_copy(out->parent, sizeof(out->parent), parent);
	out->starts = strcmp(start, "auto") == 0;
	out->created_ms = sys_now_ms() - sys_age_ms(&st.st_mtim);
	return 1;
}

/* Definitions that start at boot come first, then the lower parent address, so that the choice is always the same. */
static bool goes_before(const struct definition *a, const struct definition *b)
{
	return a->starts != b->starts ? a->starts : strcmp(a->parent, b->parent) < 0;
}

int mdevctl_definition(struct definition *out, const struct host *host, const char *uuid, struct err *err)
{
	char safe[UUID_SIZE], parent[PARENT_SIZE];
	const struct dirent *e;
	const struct host view = host_of_libvirt(host);
	autoclosedir DIR *d = NULL;
	int found = 0, listed;

	if (!uuid_parse(safe, uuid))
		return 0;
	listed = host_list(&d, &view, DEFINITIONS, err);
	if (!d)
		return listed;
	while ((e = sys_next(d))) {
		struct definition one;
		int r;

		if (!parent_parse(parent, e->d_name) || strcmp(parent, e->d_name) != 0)
			continue;
		r = read_one(&one, host, sys_list_fd(d), parent, safe, err);
		if (r < 0)
			return r;
		if (r == 1 && (!found || goes_before(&one, out))) {
			*out = one;
			found = 1;
		}
	}
	if (errno)
		return err_sys(err, errno, "%s/" DEFINITIONS, host->name);
	return found;
}

/* Is it a path below the device's directory, at any depth? */
static bool is_below(const char *name)
{
	for (const char *s = name; s; s = strchr(s, '/') ? strchr(s, '/') + 1 : NULL)
		if (!*s || *s == '/' || *s == '.')
			return false;
	return true;
}

int mdevctl_attrs(struct mdev_attr **out, size_t *n, const struct host *host, const struct definition *of,
		  struct err *err)
{
	autofree char *text = NULL, *list = NULL, *item = NULL;
	autofree struct mdev_attr *attrs = NULL;
	const struct host view = host_of_libvirt(host);
	char path[sizeof(DEFINITIONS) + PATH_SIZE];
	struct json_field field = { .key = "attrs", .raw = true };
	struct mdev_attr attr;
	struct stat st;
	size_t len = 0, at = 0, found = 0;
	int r;

	*out = NULL;
	*n = 0;
	snprintf(path, sizeof(path), DEFINITIONS "/%s/%s", of->parent, of->uuid);
	r = read_text(&text, &len, &st, host, view.root, path, err);
	if (r <= 0)
		return r;
	field.value = list = mem_alloc(len + 1);
	field.size = len + 1;
	item = mem_alloc(len + 1);
	if (json_read(text, len, &field, 1) || !field.found)
		return 0;
	while ((r = json_next(list, &at, item, len + 1)) == 1) {
		if (!json_pair(item, attr.name, sizeof(attr.name), attr.value, sizeof(attr.value)) ||
		    !is_below(attr.name))
			break;
		*(struct mdev_attr *)mem_add(&attrs, &found, sizeof(attr)) = attr;
	}
	if (r != 0)
		return err_set(err, EINVAL,
			       "mdevctl's definition %s/%s is not valid: its attrs are not a list of names and values",
			       host->name, path);
	*out = steal_ptr(&attrs);
	*n = found;
	return 0;
}

bool mdevctl_defines(const struct host *host, const char *uuid)
{
	struct definition ignored;
	struct err err;

	return mdevctl_definition(&ignored, host, uuid, &err) != 0;
}

static int by_place(const void *a, const void *b)
{
	const struct definition *x = a, *y = b;
	int r = strcmp(x->parent, y->parent);

	return r ? r : strcmp(x->uuid, y->uuid);
}

/* Adds the valid definitions in one parent's directory. Returns the first error, but reads on after it. */
static int read_parent(struct definition **list, size_t *n, const struct host *host, int dir, const char *parent,
		       struct err *err)
{
	autoclosedir DIR *d = sys_list(dir, parent);
	const struct dirent *e;
	int first = 0;

	if (!d && (errno == ENOTDIR || errno == ENOENT))
		return 0;
	if (!d)
		return err_sys(err, errno, "%s/" DEFINITIONS "/%s", host->name, parent);
	while ((e = sys_next(d))) {
		char uuid[UUID_SIZE];
		struct definition one;
		struct err ignored;
		int r;

		if (!uuid_parse(uuid, e->d_name) || strcmp(uuid, e->d_name) != 0)
			continue;
		r = read_one(&one, host, dir, parent, uuid, first ? &ignored : err);
		if (r < 0 && !first)
			first = r;
		if (r > 0)
			*(struct definition *)mem_add(list, n, sizeof(one)) = one;
	}
	if (errno && !first)
		first = err_sys(err, errno, "%s/" DEFINITIONS "/%s", host->name, parent);
	return first;
}

int mdevctl_definitions(struct definition **out, size_t *n, const struct host *host, struct err *err)
{
	autofree struct definition *list = NULL;
	char parent[PARENT_SIZE];
	const struct dirent *e;
	const struct host view = host_of_libvirt(host);
	autoclosedir DIR *d = NULL;
	int first = host_list(&d, &view, DEFINITIONS, err);

	*out = NULL;
	*n = 0;
	if (!d)
		return first;
	while ((e = sys_next(d))) {
		struct err ignored;
		int r = 0;

		if (parent_parse(parent, e->d_name) && strcmp(parent, e->d_name) == 0)
			r = read_parent(&list, n, host, sys_list_fd(d), parent, first ? &ignored : err);
		if (r < 0 && !first)
			first = r;
	}
	if (errno && !first)
		first = err_sys(err, errno, "%s/" DEFINITIONS, host->name);
	if (list)
		qsort(list, *n, sizeof(*list), by_place);
	*out = steal_ptr(&list);
	return first;
}

int mdevctl_undefine(const struct host *host, const char *uuid, const char *only, struct err *err)
{
	char path[PATH_SIZE], safe[UUID_SIZE], parent[PARENT_SIZE];
	const struct dirent *e;
	const struct host view = host_of_libvirt(host);
	autoclosedir DIR *d = NULL;
	int listed;

	if (!uuid_parse(safe, uuid))
		return err_set(err, EINVAL, "'%s' is not the name of an mdevctl definition", uuid);
	listed = host_list(&d, &view, DEFINITIONS, err);
	if (!d)
		return listed;
	while ((e = sys_next(d))) {
		if (!parent_parse(parent, e->d_name) || strcmp(parent, e->d_name) != 0 ||
		    (only && strcmp(parent, only) != 0))
			continue;
		snprintf(path, sizeof(path), "%s/%s", parent, safe);
		if (unlinkat(sys_list_fd(d), path, 0) < 0 && errno != ENOENT && errno != ENOTDIR)
			return err_sys(err, errno, "removing mdevctl's definition %s/" DEFINITIONS "/%s", host->name,
				       path);
	}
	return errno ? err_sys(err, errno, "%s/" DEFINITIONS, host->name) : 0;
}
