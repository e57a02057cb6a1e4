/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Giving vGPUs back: what we made is removed, what was there before is left standing, and the lease is dropped last.
 */
#include "device/release.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/timed_child.h"
#include "base/file.h"
#include "host/vfio_users.h"
#include "device/kernel.h"
#include "host/libvirt_files.h"
#include "host/mdevctl_files.h"
#include "state/history.h"

enum { CLOSE_STEP_MS = 50, REMOVE_SLACK_MS = 200 };

int64_t release_lock_by(const struct policy *policy)
{
	return host_now_ms() + (int64_t)policy->lock_timeout_s * 1000;
}

int release_mark(struct store *store, const char *domain, int64_t asked_ms, int wait_ms, char (**ids)[ID_SIZE],
		 size_t *n, struct err *err)
{
	struct leases leases = { 0 };
	int r = store_lock(store, wait_ms, err);

	*ids = NULL;
	*n = 0;
	if (r < 0)
		return r;
	r = lease_list(store, &leases, err);
	*ids = calloc(leases.n + 1, sizeof(**ids));
	if (!*ids)
		abort();
	for (size_t i = 0; r == 0 && i < leases.n; i++) {
		struct lease *lease = &leases.list[i];

		if (strcmp(lease->domain, domain) != 0 || lease->since_ms > asked_ms)
			continue;
		/* Nothing was made for a reservation: a device under it is somebody else's. */
		if (lease->state == LEASE_RESERVED) {
			r = lease_drop(store, lease->vgpu.id, err);
			continue;
		}
		/*
		 * Marked once: the driver's time runs from the first mark. But who marked it and still lives may take
		 * that back, and would not know of this.
		 */
		if (lease->state != LEASE_RELEASING || host_process_lives(lease->writer, lease->writer_start)) {
			lease->state = LEASE_RELEASING;
			r = lease_put(store, lease, err);
		}
		if (r == 0)
			memcpy((*ids)[(*n)++], lease->vgpu.id, ID_SIZE);
	}
	store_unlock(store);
	lease_list_free(&leases);
	return r;
}

/* The lease, if it is still to be given back: 1, else 0. */
static int still_releasing(struct store *store, const char *id, int wait_ms, struct lease *lease, struct err *err)
{
	int r = store_lock(store, wait_ms, err);

	if (r < 0)
		return r == -ETIMEDOUT ? -EAGAIN : r;
	r = lease_get(store, id, lease, err);
	store_unlock(store);
	return r == 1 ? lease->state == LEASE_RELEASING : r;
}

static int drop_if_releasing(struct store *store, const char *id, int wait_ms, struct err *err)
{
	struct lease now;
	int r = store_lock(store, wait_ms, err);

	if (r < 0)
		return r == -ETIMEDOUT ? -EAGAIN : r;
	r = lease_get(store, id, &now, err);
	if (r == 1 && now.state == LEASE_RELEASING) {
		/* Before the lease, which says so as long as it is there. */
		if (now.origin == LEASE_CREATED)
			affinity_removed(store, id);
		r = lease_drop(store, id, err);
		/* A pass whose view was older than the lease may have noted it as free while it was in use. */
		seen_forget(store, id);
	} else if (r == 1) {
		r = 0;
	}
	store_unlock(store);
	return r < 0 ? r : 0;
}

/* -EAGAIN where it is not known: somebody who sees more, or has more time, will finish it. */
static int is_closed(const struct host *host, const char *id, int64_t look_by_ms, struct err *err)
{
	struct vfio_users *users = vfio_users_read(host, look_by_ms);
	pid_t pid = 0;
	int r = vfio_users_open(users, host, id, &pid, err);

	vfio_users_free(users);
	if (r == 1)
		return err_set(err, EBUSY, "vGPU %s: process %d has it open", id, (int)pid);
	return r < 0 ? err_recode(err, EAGAIN) : 0;
}

struct removal {
	const struct host *host;
	struct vgpu_ref vgpu;
	int wait_ms;
	int pgpu;     /* its lock */
	pid_t parent; /* 0: the child keeps that, too */
};

static int remove_device(void *arg, struct err *err)
{
	const struct removal *removal = arg;

	/* Whoever has it open unseen holds up the write, and nobody else. */
	if (removal->parent && getpid() != removal->parent)
		close(removal->pgpu);
	return kernel_remove(removal->host, &removal->vgpu, removal->wait_ms, err);
}

static int remove_closed(const struct store *store, const struct vgpu_ref *vgpu, int pgpu, int wait_ms,
			 int64_t look_by_ms, struct err *err)
{
	struct removal removal = {
		.host = store->host, .vgpu = *vgpu, .wait_ms = wait_ms, .pgpu = pgpu, .parent = getpid()
	};
	int lock, r = is_closed(store->host, vgpu->id, look_by_ms, err);

	if (r < 0)
		return r;
	/* Before its own removal is over it is not gone, though sysfs shows it no more. */
	lock = store_lock_removal(store, vgpu->id, err);
	if (lock == -EBUSY)
		return err_recode(err, EAGAIN);
	/* Where there is no place for one (/run is full), the pGPU's stands for it. */
	if (lock < 0)
		removal.parent = 0;
	r = timed_child_run(remove_device, &removal, wait_ms + REMOVE_SLACK_MS, err);
	/* Its process was killed, and its write has ended with it: what is gone is gone. */
	if (r == -EINTR && kernel_exists(store->host, vgpu) == 0)
		r = 0;
	if (lock >= 0)
		store_end_removal(store, vgpu->id, lock, r != -ETIMEDOUT);
	return r;
}

int release_remove(const struct store *store, const struct vgpu_ref *vgpu, int pgpu, int wait_ms, struct err *err)
{
	return remove_closed(store, vgpu, pgpu, wait_ms, host_now_ms() + wait_ms, err);
}

/* Waits, without any lock, for the driver: 0 gone by itself, 1 it is our turn, -EAGAIN no time left. */
static int let_driver_remove(const struct host *host, const struct policy *policy, const struct lease *lease,
			     int64_t deadline_ms, struct err *err)
{
	int64_t turn = lease->since_ms + (int64_t)policy->driver_cleanup_s * 1000;

	while (host_now_ms() < turn) {
		if (kernel_exists(host, &lease->vgpu) == 0)
			return 0;
		if (host_now_ms() >= deadline_ms)
			return err_set(err, EAGAIN, "vGPU %s: the driver still has %d s to remove it by itself",
				       lease->vgpu.id, host_left_ms(turn) / 1000 + 1);
		host_sleep_ms(CLOSE_STEP_MS);
	}
	return 1;
}

/* Under the pGPU's lock, where nobody else writes: is it still ours to remove, and closed? Then remove it. */
static int remove_locked(struct store *store, const char *id, int pgpu, int64_t deadline_ms, int64_t look_by_ms,
			 struct err *err)
{
	struct lease lease;
	int r = still_releasing(store, id, host_left_ms(deadline_ms), &lease, err);

	if (r <= 0)
		return r;
	r = remove_closed(store, &lease.vgpu, pgpu, host_left_ms(deadline_ms), look_by_ms, err);
	if (r < 0)
		return r == -ETIMEDOUT ? -EAGAIN : r;
	return drop_if_releasing(store, id, host_left_ms(deadline_ms) + REMOVE_SLACK_MS, err);
}

static int finish_created(struct store *store, const struct policy *policy, const struct lease *lease,
			  int64_t deadline_ms, int64_t look_by_ms, struct err *err)
{
	int r = 1;

	if (kernel_driver_removes(store->host, &lease->vgpu) && kernel_exists(store->host, &lease->vgpu) == 1) {
		r = let_driver_remove(store->host, policy, lease, deadline_ms, err);
		if (r < 0)
			return r;
	}
	/* Without the pGPU's lock, as others need that meanwhile. */
	while (store_removes(store, lease->vgpu.id) && host_left_ms(deadline_ms) > 0)
		host_sleep_ms(CLOSE_STEP_MS);
	autoclose int lock = store_lock_pgpu(store, lease->vgpu.pgpu, host_left_ms(deadline_ms), err);
	if (lock < 0)
		return lock == -ETIMEDOUT ? -EAGAIN : lock;
	return remove_locked(store, lease->vgpu.id, lock, deadline_ms, look_by_ms, err);
}

/*
 * Waits until nobody has it open. The last look that could be finished counts: where time ran out in the next one, a
 * device that was open is said to be open, not that this cannot be told.
 */
static int wait_closed(const struct host *host, const char *id, int64_t deadline_ms, int64_t look_by_ms,
		       struct err *err)
{
	struct err open = { 0 };

	for (;;) {
		int r = is_closed(host, id, look_by_ms, err);

		if (r == -EAGAIN && open.code) {
			*err = open;
			return -EBUSY;
		}
		if (r != -EBUSY || host_now_ms() >= deadline_ms)
			return r;
		open = *err;
		host_sleep_ms(CLOSE_STEP_MS);
	}
}

int release_turn(struct store *store, const struct policy *policy, const char *id, int64_t deadline_ms,
		 int64_t look_by_ms, struct err *err)
{
	struct lease lease;
	int r = still_releasing(store, id, host_left_ms(deadline_ms) + 1, &lease, err);

	if (r <= 0)
		return r;
	/* An open device keeps its lease whatever else is true. */
	r = wait_closed(store->host, id, deadline_ms, look_by_ms, err);
	if (r < 0)
		return r;
	if (lease.origin == LEASE_ADOPTED)
		return drop_if_releasing(store, id, host_left_ms(deadline_ms) + 1, err);
	while ((r = finish_created(store, policy, &lease, deadline_ms, look_by_ms, err)) == -EBUSY &&
	       host_left_ms(deadline_ms) > CLOSE_STEP_MS)
		host_sleep_ms(CLOSE_STEP_MS);
	return r;
}

int release_finish(struct store *store, const struct policy *policy, const char *id, int64_t deadline_ms,
		   struct err *err)
{
	return release_turn(store, policy, id, deadline_ms, deadline_ms, err);
}

int release_unmarked(struct store *store, const struct policy *policy, const struct lease *lease, int64_t asked_ms,
		     int64_t deadline_ms, struct err *err)
{
	struct lease asked = *lease, now;
	int r;

	if (lease->origin == LEASE_ADOPTED || lease->state == LEASE_RESERVED)
		return 0;
	asked.since_ms = asked_ms;
	while ((r = is_closed(store->host, lease->vgpu.id, deadline_ms, err)) == -EBUSY &&
	       host_left_ms(deadline_ms) > CLOSE_STEP_MS)
		host_sleep_ms(CLOSE_STEP_MS);
	if (r == 0 && kernel_driver_removes(store->host, &lease->vgpu) && kernel_exists(store->host, &lease->vgpu) == 1)
		r = let_driver_remove(store->host, policy, &asked, deadline_ms, err) < 0 ? -err->code : 0;
	if (r < 0)
		return r;
	autoclose int lock = store_lock_pgpu(store, lease->vgpu.pgpu, host_left_ms(deadline_ms), err);
	if (lock < 0)
		return lock;
	if (store_lock(store, host_left_ms(deadline_ms), err) < 0)
		return -err->code;
	r = lease_get(store, lease->vgpu.id, &now, err);
	store_unlock(store);
	if (r <= 0 || strcmp(now.domain, lease->domain) != 0 || now.since_ms != lease->since_ms)
		return r < 0 ? r : 0;
	return release_remove(store, &lease->vgpu, lock, host_left_ms(deadline_ms), err);
}

int release_orphan(struct store *store, const struct policy *policy, const struct vgpu_ref *vgpu, int64_t deadline_ms,
		   struct err *err)
{
	const char *id = vgpu->id;
	int most_ms = policy->release_timeout_s * 1000, wait_ms;
	struct lease lease;
	int r;

	autoclose int lock = store_lock_pgpu(store, vgpu->pgpu, host_left_ms(deadline_ms), err);
	if (lock < 0)
		return lock;
	r = store_lock(store, host_left_ms(deadline_ms), err);
	if (r < 0)
		return r;
	r = lease_get(store, id, &lease, err);
	store_unlock(store);
	if (r < 0)
		return r;
	if (r == 1)
		return err_set(err, EBUSY, "vGPU %s: domain %s leased it a moment ago", id, lease.name);
	wait_ms = host_left_ms(deadline_ms);
	r = release_remove(store, vgpu, lock, wait_ms < most_ms ? wait_ms : most_ms, err);
	if (r < 0)
		return r;
	seen_forget(store, id);
	/* Its definition goes with it: Nova takes a device that is defined but absent for a free one, and fails. */
	return vgpu->framework == FW_MDEV ? mdevctl_undefine(store->host, id, vgpu->parent, err) : 0;
}

/* Takes the lock and the lease as it is now: 1 where it is the one that the caller saw. The lock is held then. */
static int lock_unchanged(struct store *store, const struct lease *lease, int64_t deadline_ms, struct err *err)
{
	struct lease now;
	int r = store_lock(store, host_left_ms(deadline_ms), err);

	if (r < 0)
		return r;
	r = lease_get(store, lease->vgpu.id, &now, err);
	if (r == 1 && lease_same(&now, lease))
		return 1;
	store_unlock(store);
	return r < 0 ? r : 0;
}

int release_drop(struct store *store, const struct policy *policy, const struct lease *lease, struct err *err)
{
	int r = lock_unchanged(store, lease, release_lock_by(policy), err);

	if (r <= 0)
		return r;
	r = lease_drop(store, lease->vgpu.id, err);
	store_unlock(store);
	return r < 0 ? r : 1;
}

/* *mark is the lease as it is then. */
static int claim(struct store *store, const struct lease *lease, struct lease *mark, int64_t deadline_ms,
		 struct err *err)
{
	int r = lock_unchanged(store, lease, deadline_ms, err);

	if (r <= 0)
		return r;
	*mark = *lease;
	mark->state = LEASE_RELEASING;
	if (lease->state != LEASE_RELEASING)
		r = lease_put(store, mark, err);
	store_unlock(store);
	return r < 0 ? r : 1;
}

int release_claim(struct store *store, const struct lease *lease, int64_t deadline_ms, struct err *err)
{
	struct lease mark;

	return claim(store, lease, &mark, deadline_ms, err);
}

/* Somebody opened it between the look and the write: it is its domain's again, if nobody else has marked it since. */
static void put_back(struct store *store, const struct policy *policy, const struct lease *mark, enum lease_state was)
{
	struct lease back = *mark;
	struct err err;

	if (was == LEASE_RELEASING || lock_unchanged(store, mark, release_lock_by(policy), &err) != 1)
		return;
	back.state = was;
	lease_put(store, &back, &err);
	store_unlock(store);
}

int release_now(struct store *store, const struct policy *policy, const struct lease *lease, struct err *err)
{
	int64_t deadline = host_now_ms() + (int64_t)(policy->release_timeout_s + policy->driver_cleanup_s) * 1000;
	struct lease mark;
	int r;

	if (lease->state == LEASE_RESERVED)
		return release_drop(store, policy, lease, err);
	r = claim(store, lease, &mark, release_lock_by(policy), err);
	if (r <= 0)
		return r;
	r = release_finish(store, policy, lease->vgpu.id, deadline, err);
	if (r == -EBUSY)
		put_back(store, policy, &mark, lease->state);
	return r < 0 ? r : 1;
}
