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

/* The next parent's directory; false: no more, with the errno of the listing. */
static bool next_parent(DIR *d, char parent[PARENT_SIZE])
{
	const struct dirent *e;

	while ((e = sys_next(d)))
		if (parent_parse(parent, e->d_name) && strcmp(parent, e->d_name) == 0)
			return true;
	return false;
}

static int add_one(struct definition **list, size_t *n, const struct host *host, int dir, const char *parent,
		   const char *uuid, struct err *err)
{
	struct definition one;
	int r = read_one(&one, host, dir, parent, uuid, err);

	if (r > 0)
		*(struct definition *)mem_add(list, n, sizeof(one)) = one;
	return r < 0 ? r : 0;
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
		struct err ignored;
		int r = 0;

		if (uuid_parse(uuid, e->d_name) && strcmp(uuid, e->d_name) == 0)
			r = add_one(list, n, host, dir, parent, uuid, first ? &ignored : err);
		first = first ? first : r;
	}
	if (errno && !first)
		first = err_sys(err, errno, "%s/" DEFINITIONS "/%s", host->name, parent);
	return first;
}

/* Lists the definitions of this UUID, or (NULL) all. Returns the first error, but reads on after it. */
static int collect(struct definition **list, size_t *n, const struct host *host, const char *uuid, struct err *err)
{
	const struct host view = host_of_libvirt(host);
	char parent[PARENT_SIZE];
	autoclosedir DIR *d = NULL;
	int first = host_list(&d, &view, DEFINITIONS, err);

	*list = NULL;
	*n = 0;
	while (d && next_parent(d, parent)) {
		struct err ignored;
		int r = uuid ? add_one(list, n, host, sys_list_fd(d), parent, uuid, first ? &ignored : err)
			     : read_parent(list, n, host, sys_list_fd(d), parent, first ? &ignored : err);

		first = first ? first : r;
	}
	return d && errno && !first ? err_sys(err, errno, "%s/" DEFINITIONS, host->name) : first;
}

/* Definitions that start at boot come first, then the lower parent address, so that the choice is always the same. */
static bool goes_before(const struct definition *a, const struct definition *b)
{
	return a->starts != b->starts ? a->starts : strcmp(a->parent, b->parent) < 0;
}

int mdevctl_definition(struct definition *out, const struct host *host, const char *uuid, struct err *err)
{
	autofree struct definition *list = NULL;
	char safe[UUID_SIZE];
	size_t n;
	int r = uuid_parse(safe, uuid) ? collect(&list, &n, host, safe, err) : 0;

	if (r < 0 || !list)
		return r;
	*out = list[0];
	for (size_t i = 1; i < n; i++)
		if (goes_before(&list[i], out))
			*out = list[i];
	return 1;
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

int mdevctl_definitions(struct definition **out, size_t *n, const struct host *host, struct err *err)
{
	int r = collect(out, n, host, NULL, err);

	if (*n)
		qsort(*out, *n, sizeof(**out), by_place);
	return r;
}

/* Is it a path below the device's directory, at any depth? */
static bool is_below(const char *name)
{
	for (const char *s = name; s; s = strchr(s, '/') ? strchr(s, '/') + 1 : NULL)
		if (!*s || *s == '/' || *s == '.')
			return false;
	return true;
}

struct attrs {
	struct mdev_attr *list;
	size_t n;
};

static bool add_attr(void *to, const char *name, const char *value)
{
	struct attrs *attrs = to;
	struct mdev_attr *attr = mem_add(&attrs->list, &attrs->n, sizeof(*attr));

	return text_copy(attr->name, sizeof(attr->name), name) && text_copy(attr->value, sizeof(attr->value), value) &&
	       is_below(name);
}

int mdevctl_attrs(struct mdev_attr **out, size_t *n, const struct host *host, const struct definition *of,
		  struct err *err)
{
	const struct host view = host_of_libvirt(host);
	char path[sizeof(DEFINITIONS) + PATH_SIZE];
	struct attrs attrs = { 0 };
	struct json_field field = { .key = "attrs", .pair = add_attr, .arg = &attrs };
	autofree char *text = NULL;
	struct stat st;
	size_t len = 0;
	int r;

	*out = NULL;
	*n = 0;
	snprintf(path, sizeof(path), DEFINITIONS "/%s/%s", of->parent, of->uuid);
	r = read_text(&text, &len, &st, host, view.root, path, err);
	if (r <= 0)
		return r;
	if (json_read(text, len, &field, 1)) {
		free(attrs.list);
		return err_set(err, EINVAL,
			       "mdevctl's definition %s/%s is not valid: its attrs are not a list of names and values",
			       host->name, path);
	}
	*out = attrs.list;
	*n = attrs.n;
	return 0;
}

int mdevctl_undefine(const struct host *host, const char *uuid, const char *only, struct err *err)
{
	char path[PATH_SIZE], safe[UUID_SIZE], parent[PARENT_SIZE];
	const struct host view = host_of_libvirt(host);
	autoclosedir DIR *d = NULL;
	int listed;

	if (!uuid_parse(safe, uuid))
		return err_set(err, EINVAL, "'%s' is not the name of an mdevctl definition", uuid);
	listed = host_list(&d, &view, DEFINITIONS, err);
	if (!d)
		return listed;
	while (next_parent(d, parent)) {
		if (only && strcmp(parent, only) != 0)
			continue;
		snprintf(path, sizeof(path), "%s/%s", parent, safe);
		if (unlinkat(sys_list_fd(d), path, 0) < 0 && errno != ENOENT && errno != ENOTDIR)
			return err_sys(err, errno, "removing mdevctl's definition %s/" DEFINITIONS "/%s", host->name,
				       path);
	}
	return errno ? err_sys(err, errno, "%s/" DEFINITIONS, host->name) : 0;
}
