/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reads and removes mdevctl's definitions. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json.h"
#include "base/mem.h"
#include "look/inventory.h"
#include "look/mdevctl_files.h"
#include "base/text.h"

#define DEFINITIONS "etc/mdevctl.d"

enum { DEFINITION_MAX = 64 << 10, PATH_SIZE = sizeof(DEFINITIONS) + PARENT_SIZE + UUID_SIZE };

/* Collects definitions, from the host as libvirt sees it. Reading continues after an error; `err` has the last one. */
struct reading {
	const struct host *host;
	struct definition *list;
	size_t n;
	struct err *err;
};

static int invalid(const struct host *host, const char *path, const char *wrong, struct err *err)
{
	return err_set(err, EINVAL, "mdevctl's definition %s/%s is not valid: %s", host->name, path, wrong);
}

/* Reads the text of a definition, and sets `path`. 1: read; 0: not found; negative: error. */
static int read_text(char **text, char path[PATH_SIZE], struct stat *st, const struct host *host, const char *parent,
		     const char *uuid, struct err *err)
{
	size_t len;
	int r;

	snprintf(path, PATH_SIZE, DEFINITIONS "/%s/%s", parent, uuid);
	autoclose int fd = openat(host->root, path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return 0;
	r = fd < 0 || fstat(fd, st) < 0 ? -errno : sys_slurp(fd, DEFINITION_MAX, text, &len);
	if (r < 0 || !*text)
		return err_sys(err, -r, "mdevctl's definition %s/%s", host->name, path);
	return strlen(*text) == len ? 1 : invalid(host, path, "it holds a NUL byte", err);
}

/* Adds the definition of this UUID on this parent, if it exists. */
static void add_one(struct reading *reading, const char *parent, const char *uuid)
{
	char path[PATH_SIZE], word[TYPE_SIZE], type[TYPE_SIZE], start[16];
	struct json_field fields[] = { { .key = "mdev_type", .value = word, .size = sizeof(word) },
				       { .key = "start", .value = start, .size = sizeof(start) } };
	autofree char *text = NULL;
	struct definition *one;
	const char *wrong;
	struct stat st;

	if (read_text(&text, path, &st, reading->host, parent, uuid, reading->err) <= 0)
		return;
	wrong = json_read(text, fields, ARRAY_SIZE(fields));
	if (!wrong && !type_parse(type, word))
		wrong = fields[0].found ? "mdev_type is not a type ID" : "mdev_type is missing";
	if (wrong) {
		invalid(reading->host, path, wrong, reading->err);
		return;
	}
	one = mem_add(&reading->list, &reading->n, sizeof(*one));
	text_copy(one->uuid, sizeof(one->uuid), uuid);
	text_copy(one->parent, sizeof(one->parent), parent);
	memcpy(one->type, type, sizeof(one->type));
	one->starts = strcmp(start, "auto") == 0;
	one->created_ms = sys_now_ms() - sys_age_ms(&st.st_mtim);
}

static void read_parent(struct reading *reading, int dir, const char *parent)
{
	autoclosedir DIR *d = sys_list(dir, parent);
	char uuid[UUID_SIZE];

	while (d && inventory_next_name(d, uuid_parse, uuid))
		add_one(reading, parent, uuid);
	if (errno && errno != ENOTDIR && errno != ENOENT)
		err_sys(reading->err, errno, "%s/" DEFINITIONS "/%s", reading->host->name, parent);
}

static int by_place(const void *a, const void *b)
{
	const struct definition *x = a, *y = b;
	int r = strcmp(x->parent, y->parent);

	return r ? r : strcmp(x->uuid, y->uuid);
}

int mdevctl_definitions(struct definition **list, size_t *n, const struct host *host, const char *uuid, struct err *err)
{
	const struct host view = host_of_libvirt(host);
	struct reading reading = { .host = &view, .err = err };
	char parent[PARENT_SIZE];
	autoclosedir DIR *d = NULL;

	err->code = 0;
	host_list(&d, &view, DEFINITIONS, err);
	while (inventory_next_name(d, parent_parse, parent)) {
		if (uuid)
			add_one(&reading, parent, uuid);
		else
			read_parent(&reading, sys_list_fd(d), parent);
	}
	if (errno)
		err_sys(err, errno, "%s/" DEFINITIONS, host->name);
	mem_sort(reading.list, reading.n, sizeof(*reading.list), by_place);
	*list = reading.list;
	*n = reading.n;
	return -err->code;
}

static bool parent_exists(const struct host *host, const char *parent)
{
	char path[sizeof("sys/class/mdev_bus/") + PARENT_SIZE];

	snprintf(path, sizeof(path), "sys/class/mdev_bus/%s", parent);
	return inventory_kind(host, parent) != PCI_MISSING || sys_exists(host->root, path);
}

int mdevctl_definition(struct definition *out, const struct host *host, const char *uuid, struct err *err)
{
	autofree struct definition *list = NULL;
	char safe[UUID_SIZE];
	size_t n;
	int r = uuid_parse(safe, uuid) ? mdevctl_definitions(&list, &n, host, safe, err) : 0, best = -1;

	if (r < 0 || !list)
		return r;
	for (size_t i = 0; i < n; i++) {
		int rank = n > 1 ? 2 * parent_exists(host, list[i].parent) + list[i].starts : 0;

		if (rank > best)
			*out = list[i];
		best = rank > best ? rank : best;
	}
	return 1;
}

size_t mdevctl_parents(char (**parents)[PARENT_SIZE], const struct host *host)
{
	const struct host view = host_of_libvirt(host);
	autoclosedir DIR *d = sys_list(view.root, DEFINITIONS);
	char parent[PARENT_SIZE], uuid[UUID_SIZE];
	size_t n = 0;

	*parents = NULL;
	while (inventory_next_name(d, parent_parse, parent)) {
		autoclosedir DIR *definitions = sys_list(sys_list_fd(d), parent);

		if (inventory_next_name(definitions, uuid_parse, uuid))
			memcpy(mem_add(parents, &n, PARENT_SIZE), parent, PARENT_SIZE);
	}
	return n;
}

/* Is this a relative path that stays below the device's directory? */
static bool is_below(const char *name)
{
	for (const char *s = name; s; s = strchr(s, '/') ? strchr(s, '/') + 1 : NULL)
		if (!*s || *s == '/' || *s == '.')
			return false;
	return true;
}

static bool add_attr(void *to, const char *name, const char *value)
{
	struct mdev_attrs *attrs = to;
	struct mdev_attr *attr = mem_add(&attrs->list, &attrs->n, sizeof(*attr));

	return text_copy(attr->name, sizeof(attr->name), name) && text_copy(attr->value, sizeof(attr->value), value) &&
	       is_below(name);
}

int mdevctl_attrs(struct mdev_attrs *attrs, const struct host *host, const struct definition *of, struct err *err)
{
	const struct host view = host_of_libvirt(host);
	struct json_field field = { .key = "attrs", .pair = add_attr, .arg = attrs };
	autofree char *text = NULL;
	char path[PATH_SIZE];
	struct stat st;
	int r = read_text(&text, path, &st, &view, of->parent, of->uuid, err);

	if (r == 1 && json_read(text, &field, 1))
		return invalid(host, path, "its attrs are not a list of names and values", err);
	return r < 0 ? r : 0;
}

static bool path_of(char path[PATH_SIZE], const char *uuid, const char *parent)
{
	char safe[UUID_SIZE], its[PARENT_SIZE];

	return uuid_parse(safe, uuid) && parent_parse(its, parent) &&
	       snprintf(path, PATH_SIZE, DEFINITIONS "/%s/%s", its, safe) > 0;
}

bool mdevctl_defines(const struct host *host, const char *uuid, const char *parent)
{
	struct definition ignored;
	char path[PATH_SIZE];
	struct err err;

	if (!*parent)
		return mdevctl_definition(&ignored, host, uuid, &err) != 0;
	return path_of(path, uuid, parent) && (sys_exists(host->libvirt, path) || errno != ENOENT);
}

int mdevctl_undefine(const struct host *host, const char *uuid, const char *parent, struct err *err)
{
	const struct host view = host_of_libvirt(host);
	char path[PATH_SIZE];

	if (!path_of(path, uuid, parent))
		return err_set(err, EINVAL, "'%s' is not the name of an mdevctl definition", uuid);
	if (unlinkat(view.root, path, 0) == 0 || errno == ENOENT || errno == ENOTDIR)
		return 0;
	return err_sys(err, errno, "removing mdevctl's definition %s/%s", host->name, path);
}
