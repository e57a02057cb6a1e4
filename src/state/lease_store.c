/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Leases: the records and their folder. Their text form is in model/lease.c. */
#include "state/lease_store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/file.h"
#include "base/text.h"

enum { LEASE_TEXT_MAX = 8192 };

/* Reads and checks one file: its name must be the id that it holds. */
static int read_lease(const struct store *store, const char *name, struct lease *lease)
{
	char text[LEASE_TEXT_MAX], id[ID_SIZE];
	ssize_t n = file_read(store->leases, name, text, sizeof(text));

	if (n < 0)
		return n == -EFBIG ? -EINVAL : (int)n;
	if (!id_parse(id, name) || strcmp(id, name) != 0 || lease_parse(lease, text) < 0 ||
	    strcmp(lease->vgpu.id, name) != 0)
		return -EINVAL;
	return 0;
}

static int garbage(const struct store *store, const char *name, struct leases *out, struct err *err)
{
	out->garbage++;
	return store->lock >= 0 ? store_set_aside(store, "leases", name, err) : 0;
}

int lease_list(const struct store *store, struct leases *out, struct err *err)
{
	autoclosedir DIR *dir = NULL;
	struct dirent *entry;
	size_t room = 0;
	int fd, r = 0;

	*out = (struct leases){ 0 };
	if (store->leases < 0)
		return 0;
	fd = file_dir(store->leases, ".");
	dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir)
		return err_sys(err, fd < 0 ? -fd : errno, "/run/vgpu-lease/leases");
	while (r == 0 && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.') {
			/* Under the lock nobody is writing: it is what a writer left that was killed. */
			if (store->lock >= 0 && strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
				unlinkat(store->leases, entry->d_name, 0);
			continue;
		}
		if (out->n == room) {
			room = room ? room * 2 : 16;
			out->list = reallocarray(out->list, room, sizeof(*out->list));
			if (!out->list)
				abort();
		}
		r = read_lease(store, entry->d_name, &out->list[out->n]);
		if (r == 0)
			out->n++;
		else if (r == -ENOENT)
			r = 0; /* dropped meanwhile */
		else if (r == -EINVAL || r == -ELOOP || r == -EISDIR)
			r = garbage(store, entry->d_name, out, err);
		else
			r = err_sys(err, -r, "/run/vgpu-lease/leases/%s", entry->d_name);
	}
	if (r < 0) {
		lease_list_free(out);
		return r;
	}
	if (out->n)
		leases_sort(out);
	return 0;
}

int lease_get(const struct store *store, const char *id, struct lease *out, struct err *err)
{
	int r = read_lease(store, id, out);

	if (r == 0)
		return 1;
	if (r == -ENOENT)
		return 0;
	if (r == -EINVAL)
		return store_set_aside(store, "leases", id, err);
	return err_sys(err, -r, "/run/vgpu-lease/leases/%s", id);
}

/* Where /run is full, what is leased already can be written still: marked for giving back, which makes room. */
static int publish(const struct store *store, const char *id, const char *text, size_t len)
{
	int r = file_publish(store->leases, id, text, len, true);

	if (r != -ENOSPC && r != -EDQUOT)
		return r;
	return file_overwrite(store->leases, id, text, len) == 0 ? 0 : r;
}

int lease_put(const struct store *store, struct lease *lease, struct err *err)
{
	char text[LEASE_TEXT_MAX];
	int r;

	lease->since_ms = host_now_ms();
	lease->writer = store->resident ? 0 : getpid();
	lease->writer_start = store->resident ? 0 : store_own_start(store);
	r = lease_format(lease, text, sizeof(text));
	if (r > 0)
		r = publish(store, lease->vgpu.id, text, (size_t)r);
	return r < 0 ? err_sys(err, -r, "/run/vgpu-lease/leases/%s: the lease cannot be written", lease->vgpu.id) : 0;
}

int lease_drop(const struct store *store, const char *id, struct err *err)
{
	if (unlinkat(store->leases, id, 0) < 0 && errno != ENOENT)
		return err_sys(err, errno, "/run/vgpu-lease/leases/%s: the lease cannot be dropped", id);
	return 0;
}
