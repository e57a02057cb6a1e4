/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Releases vGPUs: removes the device if the lease's origin is `created`, and drops the lease last. */
#include "act/release.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "sys/sys.h"
#include "sys/timed_child.h"
#include "look/vfio_users.h"
#include "look/mdevctl_files.h"
#include "look/looked.h"
#include "internal.h"
#include "model/event.h"
#include "state/history.h"

enum { CLOSE_STEP_MS = 50, REMOVE_SLACK_MS = 200, TURN_MS = 200, PAUSE_MS = 50 };

bool release_removes(const struct store *store, const struct lease *lease)
{
	struct owner_facts facts = { .framework = lease->vgpu.framework, .created = lease->origin == LEASE_CREATED };

	if (!facts.created || lease->state == LEASE_RESERVED)
		return false;
	/* mdevctl may have defined an active device. Ignore the definition of a half-created device. */
	if (lease->state == LEASE_ACTIVE)
		facts.defined = mdevctl_defines(store->host, lease->vgpu.id, lease->vgpu.parent);
	return owner_origin(owner_of(&facts)) == LEASE_CREATED;
}

void release_mark_lease(const struct store *store, struct lease *lease)
{
	lease->origin = release_removes(store, lease) ? LEASE_CREATED : LEASE_ADOPTED;
	/* The driver's time begins at the first look of this release that sees the device closed. */
	if (lease->state != LEASE_RELEASING)
		seen_forget(store, lease->vgpu.id);
	lease->state = LEASE_RELEASING;
}

static int give_up(const struct store *store, struct lease *lease, struct err *err)
{
	/* A reservation has created no device, so no device must be removed. */
	if (lease->state == LEASE_RESERVED)
		return lease_drop(store, lease->vgpu.id, err);
	release_mark_lease(store, lease);
	return lease_put(store, lease, err);
}

int release_mark(struct store *store, const char *domain, int64_t asked_ms, int wait_ms, struct leases *marked,
		 struct err *err)
{
	autounlock struct store *locked = store;
	autoleases struct leases leases = { 0 };
	int r = store_lock(store, wait_ms, err);

	*marked = (struct leases){ 0 };
	if (r < 0)
		return r;
	r = lease_list(store, &leases, err);
	for (EACH(struct lease *, lease, leases.list, leases.n)) {
		bool releasing = lease->state == LEASE_RELEASING, reserved = lease->state == LEASE_RESERVED;

		if (strcmp(lease->domain, domain) != 0 || (lease->since_ms > asked_ms && !releasing))
			continue;
		/* A write would restart the driver's clean-up time, or end a delay that began after `asked_ms`. */
		if (!releasing || (lease->deadline_ms && lease->since_ms <= asked_ms)) {
			lease->deadline_ms = 0;
			if (give_up(store, lease, err) < 0) {
				r = -err->code;
				continue;
			}
		}
		if (reserved)
			event_log(EVENT_RELEASED, event_of(lease), "release: domain %s: dropped the reservation of %s",
				  lease->name, lease->vgpu.id);
		else
			lease_add(marked, lease);
	}
	return r;
}

/* Locks the store, which the caller unlocks. 1: the lease is read; 0: it is missing. */
static int lock_lease(struct store *store, const char *id, int wait_ms, struct lease *now, struct err *err)
{
	*now = (struct lease){ 0 };
	return store_lock(store, wait_ms, err) < 0 ? -err->code : lease_get(store, id, now, err);
}

int release_kept(const struct lease *lease, struct err *err)
{
	int left = sys_left_ms(lease->deadline_ms);

	if (lease->state != LEASE_RELEASING || left <= 0)
		return 0;
	return err_set(err, EAGAIN, "vGPU %s: kept for up to %d s for its domain, which is arriving", lease->vgpu.id,
		       left / 1000 + 1);
}

/* lock_lease() for a `releasing` lease. Other than 1: as release_finish(). */
static int lock_releasing(struct store *store, const char *id, int wait_ms, struct lease *now, struct err *err)
{
	int r = lock_lease(store, id, wait_ms, now, err);

	if (r != 1)
		return r == -ETIMEDOUT ? err_recode(err, EAGAIN) : r;
	if (now->state != LEASE_RELEASING)
		return RELEASE_TAKEN;
	return release_kept(now, err) < 0 ? -err->code : 1;
}

/* `removed`: the caller has removed the device. -EAGAIN: it has not, but the origin is `created` by now. */
static int drop_if_releasing(struct store *store, const char *id, int wait_ms, bool removed, struct err *err)
{
	autounlock struct store *locked = store;
	struct lease now;
	int r = lock_releasing(store, id, wait_ms, &now, err);

	if (r != 1)
		return r;
	if (now.origin == LEASE_CREATED && !removed)
		return err_set(err, EAGAIN, "vGPU %s: its lease changed in the meantime", id);
	/* Reset the history first: until the drop, the lease still says that we created the device. */
	if (now.origin == LEASE_CREATED)
		affinity_gone(store, id);
	r = lease_drop(store, id, err);
	if (removed)
		seen_forget(store, id);
	return r;
}

/* 0: closed; -EBUSY: open; -EAGAIN: unknown. */
static int is_closed(const struct store *store, const char *id, int64_t look_by_ms, struct err *err)
{
	struct vfio_users *users = vfio_users_read(store->host, look_by_ms);
	pid_t pid = 0;
	int r = vfio_users_open(users, store->host, id, &pid, err);

	vfio_users_free(users);
	if (r != 1)
		return r < 0 ? err_recode(err, EAGAIN) : 0;
	seen_forget(store, id);
	err_set(err, EBUSY, "vGPU %s: process %d has it open", id, (int)pid);
	return err_cause(err, strlen("vGPU : ") + strlen(id));
}

struct removal {
	const struct store *store;
	const struct vgpu_ref *vgpu;
	int lock; /* negative: not held, or left to a child that still removes the device */
	int wait_ms;
};

static void removal_end(struct removal *removal)
{
	if (removal->lock >= 0)
		store_unlock_vgpu(removal->vgpu->id, removal->lock);
}

#define autoremoval __attribute__((cleanup(removal_end)))

static int remove_device(void *arg, struct err *err)
{
	const struct removal *removal = arg;

	return kernel_remove(removal->store->host, removal->vgpu, removal->wait_ms, err);
}

/* -ETIMEDOUT: the removal hangs, and its child keeps the work lock. */
static int removal_write(struct removal *removal, int wait_ms, struct err *err)
{
	const struct host *host = removal->store->host;
	const int locks[] = { removal->lock, -1 };
	int r;

	removal->wait_ms = wait_ms;
	r = timed_child_run(remove_device, removal, host->root, locks, wait_ms + REMOVE_SLACK_MS, 0, err);
	if (r == -ETIMEDOUT)
		close(steal_fd(&removal->lock));
	/* -EINTR: the child was killed after its write, which may have removed the device. */
	return r == -EINTR && kernel_exists(host, removal->vgpu) == 0 ? 0 : r;
}

/* Takes the work lock of a `releasing` lease. 1: taken; other as lock_releasing(). */
static int begin_removal(struct removal *removal, struct store *store, int64_t deadline_ms, struct err *err)
{
	autounlock struct store *locked = store;
	const char *id = removal->vgpu->id;
	struct lease now;
	int r;

	/* Wait without the store's lock, because other processes need that lock. */
	while (store_locked_vgpu(store, id) && sys_left_ms(deadline_ms) > 0)
		sys_sleep_ms(CLOSE_STEP_MS);
	r = lock_releasing(store, id, sys_left_ms(deadline_ms), &now, err);
	if (r != 1)
		return r;
	removal->lock = store_lock_vgpu(store, id, err);
	return removal->lock < 0 ? removal->lock : 1;
}

int release_wait_closed(const struct store *store, const char *id, int64_t deadline_ms, int64_t look_by_ms,
			struct err *err)
{
	struct err open = { 0 };

	for (;;) {
		int r = is_closed(store, id, look_by_ms, err);

		if (r == -EAGAIN && open.code) {
			*err = open;
			return -EBUSY;
		}
		if (r != -EBUSY || sys_now_ms() >= deadline_ms)
			return r;
		open = *err;
		sys_sleep_ms(CLOSE_STEP_MS);
	}
}

static int64_t drivers_ms(const struct store *store, const struct policy *policy, const struct vgpu_ref *vgpu)
{
	return kernel_driver_removes(store->host, vgpu) ? (int64_t)policy->driver_cleanup_s * 1000 : 0;
}

bool release_is_drivers(const struct store *store, const struct policy *policy, const struct lease *lease)
{
	int64_t ms = lease->origin == LEASE_CREATED ? drivers_ms(store, policy, &lease->vgpu) : 0;

	return ms && sys_now_ms() < seen_closed(store, lease->vgpu.id, store->lock >= 0) + ms;
}

int release_let_driver(const struct store *store, const struct policy *policy, const struct vgpu_ref *vgpu,
		       int64_t deadline_ms, int64_t look_by_ms, struct err *err)
{
	int64_t ms = drivers_ms(store, policy, vgpu);
	int r = ms ? release_wait_closed(store, vgpu->id, deadline_ms, look_by_ms, err) : 0;
	int64_t until = ms && r == 0 ? seen_closed(store, vgpu->id, true) + ms : 0;

	while (sys_now_ms() < until && kernel_exists(store->host, vgpu) != 0) {
		if (sys_now_ms() >= deadline_ms)
			return err_set(err, EAGAIN, "vGPU %s: waiting up to %d s for the driver to remove it", vgpu->id,
				       sys_left_ms(until) / 1000 + 1);
		sys_sleep_ms(CLOSE_STEP_MS);
	}
	return r;
}

/* Tries once. Returns as release_finish(). */
static int try_finish(struct store *store, const struct lease *lease, int64_t deadline_ms, int64_t look_by_ms,
		      struct err *err)
{
	autoremoval struct removal removal = { .store = store, .vgpu = &lease->vgpu, .lock = -1 };
	const char *id = lease->vgpu.id;
	bool removes = lease->origin == LEASE_CREATED;
	int r = removes ? begin_removal(&removal, store, deadline_ms, err) : 1;

	if (r != 1)
		return r;
	r = is_closed(store, id, look_by_ms, err);
	if (r == 0 && removes)
		r = removal_write(&removal, sys_left_ms(deadline_ms), err);
	if (r < 0)
		return r == -ETIMEDOUT ? err_recode(err, EAGAIN) : r;
	return drop_if_releasing(store, id, sys_left_ms(deadline_ms) + REMOVE_SLACK_MS, removes, err);
}

int release_finish(struct store *store, const struct policy *policy, const char *id, int64_t deadline_ms,
		   int64_t look_by_ms, struct err *err)
{
	struct lease lease;
	int r = lock_releasing(store, id, sys_left_ms(deadline_ms) + 1, &lease, err);

	store_unlock(store);
	if (r != 1)
		return r;
	r = lease.origin == LEASE_CREATED ? release_let_driver(store, policy, &lease.vgpu, deadline_ms, look_by_ms, err)
					  : 0;
	while (r == 0) {
		r = try_finish(store, &lease, deadline_ms, look_by_ms, err);
		if (r != -EBUSY || sys_left_ms(deadline_ms) <= CLOSE_STEP_MS)
			break;
		sys_sleep_ms(CLOSE_STEP_MS);
		r = release_wait_closed(store, id, deadline_ms, look_by_ms, err);
	}
	return r;
}

/* Removes a closed orphan. A lone definition stays if its device now exists. */
static int remove_orphan(struct removal *removal, enum release_part part, int wait_ms, struct err *err)
{
	const struct vgpu_ref *vgpu = removal->vgpu;
	const struct host *host = removal->store->host;
	const struct lease was = { .vgpu = *vgpu, .origin = LEASE_ADOPTED };
	bool alone = part == RELEASE_LONE_DEFINITION, for_guest = affinity_is_for_guest(removal->store, vgpu->id);
	int there = alone ? kernel_exists(host, vgpu) : 0, r;

	if (there < 0)
		return err_set(err, EAGAIN, "vGPU %s: cannot tell whether it exists: %s", vgpu->id,
			       err_describe(-there));
	if (there)
		return err_set(err, EAGAIN, "vGPU %s: its device was created a moment ago", vgpu->id);
	/* Remove the definition first: Nova could give one without a device to an instance, whose start fails. */
	r = vgpu->framework == FW_MDEV ? mdevctl_undefine(host, vgpu->id, vgpu->parent, err) : 0;
	if (r < 0)
		return r;
	/* Record the type, because Nova may have chosen this vGPU for a domain, which then gets a vGPU of the type. */
	affinity_put(removal->store, &was, for_guest, "");
	if (part == RELEASE_DEVICE && removal_write(removal, wait_ms, err) < 0)
		return -err->code;
	if (part != RELEASE_ITS_DEFINITION) {
		affinity_gone(removal->store, vgpu->id);
		seen_forget(removal->store, vgpu->id);
	}
	return 0;
}

int release_orphan(struct store *store, const struct policy *policy, const struct vgpu_ref *vgpu,
		   enum release_part part, int64_t deadline_ms, struct err *err)
{
	autoremoval struct removal removal = { .store = store, .vgpu = vgpu, .lock = -1 };
	struct lease lease;
	int wait_ms, r = 0;

	if (part == RELEASE_DEVICE)
		r = release_let_driver(store, policy, vgpu, deadline_ms, deadline_ms, err);
	if (r < 0 || store_lock(store, sys_left_ms(deadline_ms), err) < 0)
		return -err->code;
	r = lease_get(store, vgpu->id, &lease, err);
	/* A reservation of another type needs this device removed first. */
	if (r == 1 && (lease.state != LEASE_RESERVED || strcmp(lease.vgpu.type, vgpu->type) == 0))
		r = err_set(err, EBUSY, "vGPU %s: domain %s leased it a moment ago", vgpu->id, lease.name);
	if (r >= 0)
		r = removal.lock = store_lock_vgpu(store, vgpu->id, err);
	store_unlock(store);
	wait_ms = sys_left_ms(sooner(sys_now_ms() + (int64_t)policy->release_timeout_s * 1000, deadline_ms));
	if (r < 0 || is_closed(store, vgpu->id, sys_now_ms() + wait_ms, err) < 0)
		return -err->code;
	return remove_orphan(&removal, part, wait_ms, err);
}

int release_claim(struct store *store, const struct lease *lease, int64_t deadline_ms, struct err *err)
{
	autounlock struct store *locked = store;
	struct lease now;
	int r = lock_lease(store, lease->vgpu.id, sys_left_ms(deadline_ms), &now, err);

	if (r < 0)
		return r;
	if (r == 0 || !lease_same(&now, lease))
		return RELEASE_TAKEN;
	return lease->state == LEASE_RELEASING ? 0 : give_up(store, &now, err);
}

int release_now(struct store *store, const struct policy *policy, const struct lease *lease, int64_t end_ms,
		struct err *err)
{
	int64_t deadline_ms = sooner(sys_now_ms() + policy_release_ms(policy), end_ms);
	bool reserved = lease->state == LEASE_RESERVED;
	/* Wait before release_claim(), because the lease must not change while the device is open. */
	int r = reserved ? 0 : release_wait_closed(store, lease->vgpu.id, deadline_ms, deadline_ms, err);

	if (r == 0)
		r = release_claim(store, lease, deadline_ms, err);
	return r != 0 || reserved ? r : release_finish(store, policy, lease->vgpu.id, deadline_ms, deadline_ms, err);
}

static int take_turn(const struct sweep *sweep, size_t i, int64_t deadline_ms, int64_t look_by_ms, bool last)
{
	const struct lease *lease = &sweep->leases.list[i];
	struct err err = { 0 };
	int r = release_finish(sweep->store, sweep->policy, lease->vgpu.id, deadline_ms, look_by_ms, &err);

	if (r >= 0 || last)
		sweep->told(sweep->arg, lease, r, &err);
	return r;
}

static bool waits(int result)
{
	return result == -EBUSY || result == -EAGAIN;
}

void release_sweep(const struct sweep *sweep, int64_t deadline_ms, int last_look_ms)
{
	size_t n = sweep->leases.n;
	int *results = mem_new(n + 1, sizeof(*results));
	bool waiting = true;
	int64_t now;

	for (size_t i = 0; i < n; i++)
		results[i] = -EAGAIN;
	while (waiting) {
		waiting = false;
		for (size_t i = 0; i < n && (now = sys_now_ms()) < deadline_ms; i++) {
			if (waits(results[i]))
				results[i] = take_turn(sweep, i,
						       n > 1 ? sooner(now + TURN_MS, deadline_ms) : deadline_ms,
						       deadline_ms, false);
			waiting |= waits(results[i]);
		}
		if (waiting)
			sys_sleep_ms(PAUSE_MS);
	}
	now = sys_now_ms();
	for (size_t i = 0; last_look_ms && i < n; i++)
		if (results[i] < 0)
			take_turn(sweep, i, now, now + last_look_ms, true);
	free(results);
}
