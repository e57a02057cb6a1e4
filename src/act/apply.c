/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Carries out the steps of a plan: first writes the leases, then sysfs; undoes both on failure. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "act/release.h"
#include "look/mdevctl_files.h"
#include "internal.h"
#include "base/mem.h"
#include "model/event.h"
#include "sys/log.h"
#include "state/history.h"
#include "look/looked.h"

enum {
	TURN_MS = 2000, /* the wait for a busy pGPU, while other pGPUs may have capacity */
	MOST_TIMES = 4, /* a run waits for other processes at most this many times lock_timeout */
};

void apply_start(struct apply *apply, struct store *store, const struct policy *policy, const struct request *request,
		 const char *op)
{
	*apply = (struct apply){ .store = store, .policy = policy, .request = request, .op = op };
	apply->begun_ms = sys_now_ms();
	apply->wait_by_ms = apply->begun_ms + (int64_t)policy->lock_timeout_s * 1000;
	apply->done = mem_new(request->nvgpus + 1, sizeof(*apply->done));
}

bool apply_has_time(struct apply *apply)
{
	int64_t since_ms = apply->begun_ms;
	int64_t time_ms = (int64_t)apply->policy->lock_timeout_s * 1000;
	autoleases struct leases leases = { 0 };
	struct err ignored;

	if (sys_now_ms() < apply->wait_by_ms)
		return true;
	if (lease_list(apply->store, &leases, &ignored) < 0)
		return false;
	for (size_t i = 0; i < leases.n; i++)
		if (leases.list[i].since_ms > since_ms && strcmp(leases.list[i].domain, apply->request->uuid) != 0)
			since_ms = leases.list[i].since_ms;
	apply->wait_by_ms = time_ms + sooner(since_ms, apply->begun_ms + (MOST_TIMES - 1) * time_ms);
	return sys_now_ms() < apply->wait_by_ms;
}

/* Takes the store's lock. Waits for it until `more_ms` after the time that apply_has_time() gives the run. */
static int lock_store(struct apply *apply, int64_t more_ms, struct err *err)
{
	int64_t began_ms = sys_now_ms();
	int r;

	do
		r = store_lock(apply->store, sys_left_ms(apply->wait_by_ms + more_ms), err);
	while (r == -ETIMEDOUT && apply_has_time(apply));
	if (r == -ETIMEDOUT)
		store_lock_holder(apply->store, NULL, (int)(sys_now_ms() - began_ms), err);
	return r;
}

int apply_lock(struct apply *apply, struct err *err)
{
	return lock_store(apply, 0, err);
}

static int64_t last_ms(const struct apply *apply)
{
	return apply->wait_by_ms + policy_create_ms(apply->policy);
}

static struct lease lease_of(const struct apply *apply, const struct step *step, enum lease_state state)
{
	struct lease lease = lease_for(apply->request, &step->vgpu);

	lease.state = state;
	lease.numa = step->numa;
	lease.framebuffer_mib = step->framebuffer_mib;
	lease.origin = step->kind == STEP_CREATE ? LEASE_CREATED : LEASE_ADOPTED;
	return lease;
}

static void end_work(struct applied *done)
{
	if (*done->now.vgpu.id && done->work >= 0)
		store_unlock_vgpu(done->now.vgpu.id, done->work);
	done->work = -1;
}

static void forget_done(struct applied *done)
{
	end_work(done);
	*done = (struct applied){ 0 };
}

void work_locks_end(struct work_locks *locks, const char *id)
{
	for (size_t i = 0; i < locks->n; i++)
		if (!id || strcmp(locks->list[i].now.vgpu.id, id) == 0)
			end_work(&locks->list[i]);
	if (id)
		return;
	free(locks->list);
	*locks = (struct work_locks){ 0 };
}

void apply_end(struct apply *apply)
{
	struct work_locks own = { 0 }, *locks = apply->work ? apply->work : &own;

	work_locks_end(locks, NULL);
	*locks = (struct work_locks){ apply->done, apply->request->nvgpus };
	if (!apply->work)
		work_locks_end(locks, NULL);
	apply->done = NULL;
}

/* Takes the work locks of all steps that no earlier round has finished. */
static int begin_work(struct apply *apply, const struct step *steps, size_t n, struct err *err)
{
	for (size_t i = 0; i < n; i++) {
		struct applied *done = &apply->done[i];
		int work;

		if (*done->now.vgpu.id && steps[i].kind != STEP_CREATE)
			continue;
		/* STEP_CREATE after an earlier round means that the device of that round is gone. */
		forget_done(done);
		work = store_lock_vgpu(apply->store, steps[i].vgpu.id, err);
		if (work >= 0) {
			*done = (struct applied){ .now.vgpu = steps[i].vgpu, .work = work };
			continue;
		}
		for (size_t k = 0; k < i; k++)
			if (!apply->done[k].now.since_ms)
				forget_done(&apply->done[k]);
		return err_in(err, "vGPU %s", steps[i].vgpu.id);
	}
	return 0;
}

static int lease_step(struct apply *apply, const struct step *step, struct applied *done, struct err *err)
{
	struct lease there;
	bool own;
	int r;

	if (done->now.since_ms)
		return 0;
	r = lease_get(apply->store, step->vgpu.id, &there, err);
	if (r < 0)
		return r;
	own = r == 1 && strcmp(there.domain, apply->request->uuid) == 0;
	/* libvirtd was killed during this start, and has begun another, which has the lease by now. */
	if (own && (there.state == LEASE_CREATING || there.state == LEASE_ACTIVE) &&
	    there.writer_start > sys_process_start(getpid()))
		return err_set(err, ESTALE, "vGPU %s: the domain was started again in the meantime", step->vgpu.id);
	if (own && there.state == LEASE_RESERVED)
		done->reserved_ms = there.deadline_ms;
	done->now = lease_of(apply, step, step->kind == STEP_CREATE ? LEASE_CREATING : LEASE_ACTIVE);
	done->kept = step->kind == STEP_KEEP;
	/* The domain's own device keeps its origin. A VF's new type, and the device of a reservation, are adopted. */
	if (r == 1 && there.state != LEASE_RESERVED && done->kept && strcmp(there.vgpu.type, step->vgpu.type) == 0) {
		done->now.origin = there.origin;
		done->now.node = there.node;
		done->released = there.state == LEASE_RELEASING;
		/* An earlier creation did not finish, so the device may be incomplete. */
		if (there.state == LEASE_CREATING)
			done->now.state = LEASE_CREATING;
	}
	return lease_put(apply->store, &done->now, err);
}

int apply_lease(struct apply *apply, const struct step *steps, size_t n, struct err *err)
{
	int r = begin_work(apply, steps, n, err);

	for (size_t i = 0; i < n && r == 0; i++)
		r = lease_step(apply, &steps[i], &apply->done[i], err);
	return r;
}

/* Delays the release of the domain's own device. 1: it is gone, so its lease can be replaced; 0: its lease stays. */
static int hold_back(const struct apply *apply, const struct step *step, struct lease *lease, struct err *err)
{
	bool gone = step->kind == STEP_CREATE && step->vgpu.framework != FW_VF;

	if (store_check_vgpu(apply->store, lease->vgpu.id, err) < 0)
		return err_in(err, "vGPU %s", lease->vgpu.id);
	/* A write that was in progress during the survey may have created the device. */
	if (gone && kernel_exists(apply->store->host, &lease->vgpu) != 0)
		return err_set(err, EAGAIN, "vGPU %s: created by another process in the meantime", lease->vgpu.id);
	if (gone || lease->state == LEASE_CREATING)
		return gone;
	if (lease->state == LEASE_ACTIVE)
		release_mark_lease(apply->store, lease);
	lease->deadline_ms = sys_now_ms() + (int64_t)apply->policy->reserve_ttl_s * 1000;
	return lease_put(apply->store, lease, err);
}

int apply_reserve(struct apply *apply, const struct step *steps, size_t n, struct err *err)
{
	for (size_t i = 0; i < n; i++) {
		struct lease lease = lease_of(apply, &steps[i], LEASE_RESERVED), was;
		int r = lease_get(apply->store, steps[i].vgpu.id, &was, err);
		bool own = r == 1 && was.state != LEASE_RESERVED;

		if (own)
			r = hold_back(apply, &steps[i], &was, err);
		if (r < 0)
			return r;
		if (own && r == 0)
			continue;
		lease.deadline_ms = sys_now_ms() + (int64_t)apply->policy->reserve_ttl_s * 1000;
		if (lease_put(apply->store, &lease, err) < 0)
			return -err->code;
		apply->done[i] = (struct applied){ .now = lease, .work = -1 };
	}
	return 0;
}

/* Takes the pGPU's lock. -EINPROGRESS: busy for TURN_MS; -EBUSY: busy until no time is left, or its driver hangs. */
static int wait_turn(struct apply *apply, const struct step *step, struct err *err)
{
	const char *pgpu = step->vgpu.pgpu;
	int64_t began_ms = sys_now_ms();
	bool hung;

	apply->lock = -1;
	if (step->kind != STEP_CREATE)
		return 0;
	do {
		int64_t by_ms = sooner(sys_now_ms() + TURN_MS, apply->wait_by_ms);

		apply->lock = store_lock_pgpu(apply->store, pgpu, sys_left_ms(by_ms), err);
		/* Check this after the wait, because a holder records the time only after it has taken the lock. */
		hung = apply->lock == -ETIMEDOUT &&
		       store_lock_hung(apply->store, pgpu, policy_create_ms(apply->policy));
	} while (apply->lock == -ETIMEDOUT && !hung && apply->patient && apply_has_time(apply));
	if (apply->lock != -ETIMEDOUT)
		return apply->lock < 0 ? apply->lock : 0;
	store_lock_holder(apply->store, pgpu, (int)(sys_now_ms() - began_ms), err);
	return err_recode(err, hung || apply->patient || !apply_has_time(apply) ? EBUSY : EINPROGRESS);
}

/*
 * Is the lease as this run wrote it? After a crash of libvirtd, a start or release may have changed it. Keeps the store
 * locked unless it fails.
 */
static int lock_ours(struct apply *apply, const struct applied *done, struct lease *lease, struct err *err)
{
	int r = lock_store(apply, policy_create_ms(apply->policy), err);

	if (r < 0)
		return r;
	r = lease_get(apply->store, done->now.vgpu.id, lease, err);
	if (r < 0)
		store_unlock(apply->store);
	return r < 0 ? r : r == 1 && lease_same(lease, &done->now);
}

/* Was the device made for a guest? A device that mdevctl defines on any parent belongs to another manager. */
static bool is_for_guest(const struct apply *apply, const struct vgpu_ref *vgpu, bool made)
{
	int64_t window_ms = (int64_t)apply->policy->start_grace_s * 1000;

	return (made && !mdevctl_defines(apply->store->host, vgpu->id, "")) ||
	       affinity_is_for_guest(apply->store, vgpu->id) || affinity_is_new(apply->store, vgpu, window_ms);
}

static int settle(struct apply *apply, const struct step *step, struct applied *done, struct err *err)
{
	bool made = step->kind == STEP_CREATE;
	char card[INV_IDENTITY_SIZE] = "";
	struct lease lease;
	int r = lock_ours(apply, done, &lease, err);

	if (r < 0)
		return r;
	if (r == 0)
		r = err_set(err, ESTALE, "the domain was released while its vGPU was being created");
	if (r == 1) {
		lease.state = LEASE_ACTIVE;
		/* The origin was `created` until now, so that an undo would remove the device. */
		if (made || lease.origin == LEASE_CREATED)
			lease.origin = owner_origin(step->owner);
		r = lease_put(apply->store, &lease, err);
	}
	/* Write the history under the lock, or this write could follow a release that has reset the history. */
	if (r == 0) {
		if (lease.vgpu.framework != FW_MDEV)
			card_record_now(card, apply->store->host, lease.vgpu.pgpu);
		affinity_put(apply->store, &lease, is_for_guest(apply, &lease.vgpu, made), card);
		seen_forget(apply->store, step->vgpu.id);
	}
	store_unlock(apply->store);
	if (r < 0)
		return r;
	done->now = lease;
	if (!apply->work)
		end_work(done);
	return 0;
}

/* Leaves the work lock to the child that still writes. Once the child ends, a pass or a start releases the lease. */
static void leave_hanging(struct applied *done)
{
	if (done->work >= 0)
		close(steal_fd(&done->work));
	forget_done(done);
}

/* 1: the lease is marked `releasing`, because the device may exist; 0: dropped, a reservation again, or not ours. */
static int undo_lease(struct apply *apply, const struct applied *done, bool drops, struct err *err)
{
	const char *id = done->now.vgpu.id;
	struct lease lease;
	int r = lock_ours(apply, done, &lease, err);

	if (r < 0)
		return r;
	/* Write a missing lease again, because a device that this run made must not stay without a lease. */
	if (r == 0 && done->made && lease_get(apply->store, id, &lease, err) == 0) {
		lease = done->now;
		r = 1;
	}
	/* Not where it was reserved first: another domain may have that place by now. */
	if (r == 1 && drops && done->reserved_ms && lease.state == LEASE_CREATING) {
		lease.state = LEASE_RESERVED;
		lease.deadline_ms = done->reserved_ms;
		r = lease_put(apply->store, &lease, err);
	} else if (r == 1 && (drops || lease.state == LEASE_RESERVED)) {
		/* The recorded history is that of an earlier device with this ID. */
		if (lease.state == LEASE_CREATING)
			affinity_gone(apply->store, id);
		r = lease_drop(apply->store, id, err);
	} else if (r == 1) {
		lease.state = LEASE_RELEASING;
		if (done->made)
			lease.origin = LEASE_CREATED;
		r = lease_put(apply->store, &lease, err) < 0 ? -err->code : 1;
	}
	store_unlock(apply->store);
	return r;
}

static int undo(struct apply *apply, struct applied *done, bool drops, struct err *err)
{
	struct policy policy = *apply->policy;
	int r = done->kept || !done->now.since_ms ? 0 : undo_lease(apply, done, drops, err);
	int64_t by = sooner(sys_now_ms() + UNDO_MS, last_ms(apply));

	/* No guest has used the device, so the driver has nothing to clean up. */
	policy.driver_cleanup_s = 0;
	end_work(done);
	return r == 1 ? release_finish(apply->store, &policy, done->now.vgpu.id, by, by, err) : r;
}

/*
 * Drops the leases of step `i` and all later steps, except the domain's reservations, which the next round needs.
 * Leaves devices of an earlier round to apply_undo().
 */
static void drop_rest(struct apply *apply, const struct step *steps, size_t n, size_t i)
{
	for (; i < n; i++) {
		struct applied *done = &apply->done[i];

		if (steps[i].kind == STEP_KEEP && !done->kept)
			continue;
		undo(apply, done, true, &(struct err){ 0 });
		forget_done(done);
	}
}

int apply_step(struct apply *apply, const struct step *steps, size_t n, size_t i, const char *params, struct err *err)
{
	const struct step *step = &steps[i];
	struct applied *done = &apply->done[i];
	bool made = step->kind == STEP_CREATE, stays;
	int r = wait_turn(apply, step, err);

	if (r == 0)
		r = create_ensure(apply, step, done, params, err);
	/* Others judge from the age of this lock whether the driver hangs. A child that hangs keeps the lock. */
	if (apply->lock >= 0)
		close(steal_fd(&apply->lock));
	stays = r == -ETIMEDOUT;
	if (r == 0)
		r = settle(apply, step, done, err);
	/* Undo only a step that creates, because a kept device may be from an earlier round. */
	if (r < 0 && made && done->made) {
		struct err undone;

		if (undo(apply, done, false, &undone) < 0) {
			err_in(&undone, "%s; nor can it be removed again", err->text);
			*err = undone;
			r = err_recode(err, ETIMEDOUT);
			stays = true;
		} else {
			forget_done(done);
		}
	}
	if (stays)
		leave_hanging(done);
	else if (r < 0)
		drop_rest(apply, steps, n, i);
	else
		event_log(made ? EVENT_CREATED : EVENT_ADOPTED, event_for(apply->request, &step->vgpu),
			  "%s: domain %s: %s %s, %s on %s", apply->op, apply->request->name,
			  made ? "created" : "adopted", step->vgpu.id, step->vgpu.type, step->vgpu.parent);
	return r;
}

void apply_undo(struct apply *apply)
{
	for (size_t i = apply->request->nvgpus; i-- > 0;) {
		struct applied *done = &apply->done[i];
		struct err err = { 0 };

		if (*done->now.vgpu.id && undo(apply, done, false, &err) < 0)
			log_warn("%s: domain %s: %s: left to the release: %s", apply->op, apply->request->name,
				 done->now.vgpu.id, err.text);
		forget_done(done);
	}
}
