/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reads and writes the leases in their directory. The text form of a lease is in model/lease.c. */
#include "state/history.h"

#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "sys/log.h"

enum { LEASE_TEXT_MAX = 8192 };

/* A container's /run can survive a reboot. Without a boot ID, a lease from the future is of another boot. */
static bool is_of_this_boot(const struct lease *lease)
{
	char boot[UUID_SIZE];

	sys_boot_id(boot);
	return *lease->boot ? strcmp(lease->boot, boot) == 0 : lease->since_ms <= sys_now_ms();
}

/* The inode of the mdev's link. The kernel does not reuse it soon, so it distinguishes a later mdev of the UUID. */
static int64_t node_of(const struct store *store, const struct vgpu_ref *vgpu)
{
	char path[ID_SIZE + 32];

	snprintf(path, sizeof(path), "sys/bus/mdev/devices/%s", vgpu->id);
	return vgpu->framework == FW_MDEV ? sys_inode(store->host->root, path) : 0;
}

/* Has other software made the device again that we created for this lease? */
static bool is_made_again(const struct store *store, const struct lease *lease)
{
	int64_t node = lease->node && lease->origin == LEASE_CREATED ? node_of(store, &lease->vgpu) : 0;

	return node && node != lease->node;
}

static int read_lease(const struct store *store, const char *name, struct lease *lease)
{
	autofree char *text = mem_alloc(LEASE_TEXT_MAX);
	ssize_t n = sys_read(store->leases, name, text, LEASE_TEXT_MAX);
	char id[ID_SIZE];
	int r;

	if (n < 0)
		return n == -EFBIG ? -EINVAL : (int)n;
	if (!id_parse(id, name) || strcmp(id, name) != 0)
		return -EINVAL;
	r = lease_parse(lease, text);
	if (r == 0 && strcmp(lease->vgpu.id, name) != 0)
		return -EINVAL;
	return r == 0 && (!is_of_this_boot(lease) || is_made_again(store, lease)) ? -ESTALE : r;
}

/* An unreadable lease is an error, because it is not known which device it protects. */
static int cannot_read(const char *name, int r, struct err *err)
{
	if (r == -EPROTONOSUPPORT)
		err_set(err, EPROTONOSUPPORT,
			"/run/vgpu-lease/leases/%s: written by a later version of vgpu-lease; install that version (troubleshooting: written-by-a-later-version)",
			name);
	else
		err_sys(err, -r, "/run/vgpu-lease/leases/%s", name);
	return err_about(err, ERR_STATE);
}

/*
 * 1: the lease was read; 0: it was dropped meanwhile, its device is gone, or it is garbage, which is counted; negative:
 * it cannot be read. Without the lock, garbage may be a lease that is being overwritten (sys_overwrite()), so it stays.
 */
static int take_lease(const struct store *store, const char *name, struct lease *lease, struct leases *counts,
		      struct err *err)
{
	int r = read_lease(store, name, lease);

	if (r == 0)
		return 1;
	/* The device of the lease is gone; a present device with this ID is not ours. */
	if (r == -ESTALE && store->lock >= 0) {
		bool again = is_of_this_boot(lease);

		if (again)
			affinity_gone(store, name);
		if (unlinkat(store->leases, name, 0) == 0)
			log_info(again ? "lease of %s: dropped: other software has made its device again"
				       : "lease of %s: dropped: written in another boot of this host",
				 name);
	}
	if (r == -ENOENT || r == -ESTALE)
		return 0;
	if (r != -EINVAL && r != -ELOOP && r != -EISDIR)
		return cannot_read(name, r, err);
	counts->garbage++;
	if (store->lock >= 0) {
		autoclose int garbage = sys_own_dir(store->run, "garbage");

		/* If the file cannot be moved, it stays, and readers skip it. */
		counts->aside += garbage >= 0 && renameat(store->leases, name, garbage, name) == 0;
	}
	return 0;
}

int lease_list(const struct store *store, struct leases *out, struct err *err)
{
	autoclosedir DIR *dir = NULL;
	const struct dirent *entry;
	int r;

	*out = (struct leases){ 0 };
	if (store->leases < 0)
		return 0;
	dir = sys_list(store->leases, ".");
	if (!dir)
		return store_dir_error(err, errno, STORE_RUN "/leases");
	while ((entry = sys_next(dir))) {
		if (entry->d_name[0] == '.') {
			/* No other process writes while we hold the lock, so a killed writer left this file. */
			if (store->lock >= 0)
				unlinkat(store->leases, entry->d_name, 0);
			continue;
		}
		r = take_lease(store, entry->d_name, mem_add(&out->list, &out->n, sizeof(*out->list)), out, err);
		out->n -= r != 1;
		if (r < 0) {
			lease_list_free(out);
			return r;
		}
	}
	mem_sort(out->list, out->n, sizeof(*out->list), text_order);
	return 0;
}

int lease_list_locked(struct store *store, int wait_ms, struct leases *out, struct err *err)
{
	autounlock struct store *locked = store;

	return store_lock(locked, wait_ms, err) < 0 ? -err->code : lease_list(locked, out, err);
}

bool lease_any(const struct host *host)
{
	autoclosedir DIR *dir = sys_list(host->root, "run/vgpu-lease/leases");
	const struct dirent *entry;

	while ((entry = sys_next(dir)))
		if (entry->d_name[0] != '.')
			return true;
	return false;
}

int lease_get(const struct store *store, const char *id, struct lease *out, struct err *err)
{
	struct leases ignored = { 0 };

	return store->leases < 0 ? 0 : take_lease(store, id, out, &ignored, err);
}

int lease_get_locked(struct store *store, int wait_ms, const char *id, struct lease *out, struct err *err)
{
	autounlock struct store *locked = store;

	return store_lock(locked, wait_ms, err) < 0 ? -err->code : lease_get(locked, id, out, err);
}

static int not_written(int code, const char *id, const char *what, struct err *err)
{
	err_sys(err, code, "/run/vgpu-lease/leases/%s: the lease cannot be %s", id, what);
	return err_about(err, ERR_STATE);
}

int lease_put(const struct store *store, struct lease *lease, struct err *err)
{
	autofree char *text = mem_alloc(LEASE_TEXT_MAX);
	const char *id = lease->vgpu.id;
	int len, r;

	lease->since_ms = sys_now_ms();
	/* Until it is created, a device with this ID is another's. */
	if (!lease->node && lease->state > LEASE_CREATING)
		lease->node = node_of(store, &lease->vgpu);
	sys_boot_id(lease->boot);
	lease->writer = getpid();
	lease->writer_start = sys_process_start(lease->writer);
	len = lease_format(lease, text, LEASE_TEXT_MAX);
	/* Leave out the instance, which only people need, so that the lease can be overwritten if /run is full. */
	if (len > SYS_OVERWRITE_MAX && *lease->instance) {
		lease->instance[0] = '\0';
		len = lease_format(lease, text, LEASE_TEXT_MAX);
	}
	r = len < 0 ? len : sys_publish(store->leases, id, text, (size_t)len);
	/* In a full /run an existing lease can still be marked `releasing`; its release frees space. */
	if (len > 0 && (r == -ENOSPC || r == -EDQUOT) && sys_overwrite(store->leases, id, text, (size_t)len) == 0)
		r = 0;
	return r < 0 ? not_written(-r, id, "written", err) : 0;
}

int lease_would_put(const struct store *store, const char *id, size_t added, struct err *err)
{
	struct store_space space;

	store_space(store->host->root, STORE_RUN "/leases", &space);
	if (!space.code && (space.bytes < added * SYS_OVERWRITE_MAX || space.files < added))
		space.code = -ENOSPC;
	return space.code ? not_written(-space.code, id, "written", err) : 0;
}

int lease_drop(const struct store *store, const char *id, struct err *err)
{
	if (unlinkat(store->leases, id, 0) == 0)
		seen_used(store, id);
	else if (errno != ENOENT)
		return not_written(errno, id, "dropped", err);
	return 0;
}

bool lease_is_hooks(const struct lease *lease, int release_wait_s)
{
	return lease->state == LEASE_RELEASING && sys_now_ms() - lease->since_ms < (int64_t)release_wait_s * 1000 &&
	       sys_process_lives(lease->writer, lease->writer_start);
}
