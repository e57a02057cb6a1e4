/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Carries out the steps of a plan: writes the leases first, then to the kernel; undoes both on failure. */
#include "device/apply.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "device/release.h"
#include "host/kernel.h"
#include "host/mdevctl_files.h"
#include "internal.h"
#include "base/mem.h"
#include "model/event.h"
#include "base/text.h"
#include "sys/log.h"
#include "state/history.h"

enum { WAIT_STEP_MS = 50, LOOK_MS = 250 };

void apply_start(struct apply *apply, struct store *store, const struct policy *policy, const struct request *request,
		 const char *op)
{
	*apply = (struct apply){ .store = store, .policy = policy, .request = request, .op = op };
	apply->wait_by_ms = sys_now_ms() + (int64_t)policy->lock_timeout_s * 1000;
	apply->end_ms = apply->wait_by_ms + (int64_t)policy->create_timeout_s * 1000;
	apply->done = mem_new(request->nvgpus + 1, sizeof(*apply->done));
}

void apply_end(struct apply *apply)
{
	free(apply->done);
	apply->done = NULL;
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

static struct applied *find_done(const struct apply *apply, const char *id)
{
	for (size_t i = 0; i < apply->ndone; i++)
		if (strcmp(apply->done[i].id, id) == 0)
			return &apply->done[i];
	return NULL;
}

static void add_done(struct apply *apply, const char *id, const struct lease *before)
{
	struct applied *done = &apply->done[apply->ndone++];

	*done = (struct applied){ .had = before != NULL };
	memcpy(done->id, id, sizeof(done->id));
	if (before)
		done->before = *before;
}

static void forget_done(struct apply *apply, const char *id)
{
	struct applied *done = find_done(apply, id);

	if (done)
		*done = apply->done[--apply->ndone];
}

/*
 * Has a later start of the domain leased it? If libvirtd was killed, this one goes on alone, and must not take from the
 * other what the other may have given to its guest.
 */
static bool is_overtaken(const struct apply *apply, const struct lease *lease)
{
	return strcmp(lease->domain, apply->request->uuid) == 0 && lease->writer != getpid() &&
	       (lease->state == LEASE_CREATING || lease->state == LEASE_ACTIVE) &&
	       lease->writer_start > store_own_start(apply->store);
}

static int lease_step(struct apply *apply, const struct step *step, struct err *err)
{
	struct lease lease = lease_of(apply, step, step->kind == STEP_CREATE ? LEASE_CREATING : LEASE_ACTIVE);
	struct lease was;
	int r = lease_get(apply->store, step->vgpu.id, &was, err);
	bool had = r == 1 && was.state != LEASE_RESERVED;

	if (r < 0)
		return r;
	if (r == 1 && is_overtaken(apply, &was))
		return err_set(err, ESTALE, "vGPU %s: a later start of the domain has leased it", step->vgpu.id);
	/* The domain's own device keeps its origin. A reservation creates no device: an existing one is not ours. */
	if (had && step->kind == STEP_KEEP) {
		lease.origin = was.origin;
		/* Its creation took too long but has ended, so the device is incomplete. */
		if (was.state == LEASE_CREATING)
			lease.state = LEASE_CREATING;
	}
	r = lease_put(apply->store, &lease, err);
	if (r == 0 && step->kind != STEP_KEEP)
		add_done(apply, step->vgpu.id, had ? &was : NULL);
	return r;
}

int apply_lease(struct apply *apply, const struct step *steps, size_t n, struct err *err)
{
	for (size_t i = 0; i < n; i++) {
		/* An earlier round of this run has leased and created it. */
		if (find_done(apply, steps[i].vgpu.id))
			continue;
		if (lease_step(apply, &steps[i], err) < 0)
			return -err->code;
	}
	return 0;
}

int apply_reserve(struct apply *apply, const struct step *steps, size_t n, struct err *err)
{
	for (size_t i = 0; i < n; i++) {
		struct lease lease = lease_of(apply, &steps[i], LEASE_RESERVED), was;
		int r = lease_get(apply->store, steps[i].vgpu.id, &was, err);

		/* The domain's own device may await release (a restore right after a save): prepare takes it over. */
		if (r == 1 && was.state != LEASE_RESERVED)
			continue;
		if (r < 0)
			return r;
		lease.deadline_ms = sys_now_ms() + (int64_t)apply->policy->reserve_ttl_s * 1000;
		r = lease_put(apply->store, &lease, err);
		if (r < 0)
			return r;
		add_done(apply, steps[i].vgpu.id, NULL);
	}
	return 0;
}

/* Waits until the domain's previous QEMU, which may be exiting, has closed its device. */
static int wait_closed(const struct apply *apply, const struct step *step, struct err *err)
{
	int64_t end = sys_now_ms() + create_within(apply->policy->release_timeout_s * 1000, apply->wait_by_ms);
	char holder[128];

	/* If nobody can tell, go on: VFIO refuses a second opener. */
	if (release_wait_closed(apply->store->host, step->vgpu.id, end, end + LOOK_MS, err) != -EBUSY)
		return 0;
	text_copy(holder, sizeof(holder), err->text + err->cause);
	return err_set(err, EBUSY, "%s, still after %d s (release_timeout)", holder, apply->policy->release_timeout_s);
}

/*
 * Waits for a removal of the device that began before the device was leased and so has not seen the lease. This needs
 * no lock, because a later removal sees the lease.
 */
static int wait_removed(const struct apply *apply, const struct step *step, struct err *err)
{
	while (store_removes(apply->store, step->vgpu.id)) {
		if (sys_now_ms() >= apply->wait_by_ms)
			return err_set(
				err, EBUSY,
				"the kernel is still removing it; see dmesg (troubleshooting: still-being-created-or-removed)");
		sys_sleep_ms(WAIT_STEP_MS);
	}
	return 0;
}

bool apply_needs_lock(const struct step *step)
{
	return step->kind != STEP_ADOPT;
}

/*
 * A step that adopts only waits for a removal. Any other step runs under the pGPU's lock, in apply->lock. A removal
 * that took too long continues in a child, without that lock.
 */
static int wait_turn(struct apply *apply, const struct step *step, struct err *err)
{
	int r = wait_removed(apply, step, err);

	apply->lock = -1;
	if (r < 0 || !apply_needs_lock(step))
		return r;
	apply->lock = store_lock_pgpu(apply->store, step->vgpu.pgpu, sys_left_ms(apply->wait_by_ms), err);
	/* The lock's last holder may have left a removal to a child. */
	if (apply->lock >= 0 && store_removes(apply->store, step->vgpu.id)) {
		close(apply->lock);
		return wait_turn(apply, step, err);
	}
	/* If another process keeps this card locked, the next card is tried. */
	if (apply->lock == -ETIMEDOUT)
		return err_recode(err, EBUSY);
	return apply->lock < 0 ? apply->lock : 0;
}

/* True for the domain's own vGPU after a timeout: the kernel may have created it without its parameters. */
static bool may_be_unfinished(const struct apply *apply, const struct step *step)
{
	struct lease lease;
	struct err err;

	return step->kind == STEP_KEEP && lease_get(apply->store, step->vgpu.id, &lease, &err) == 1 &&
	       lease.state == LEASE_CREATING;
}

/* Is the lease still this run's? If libvirtd was killed, another start or a release may have changed it meanwhile. */
static int still_ours(const struct apply *apply, const char *id, struct lease *lease, struct err *err)
{
	int r = lease_get(apply->store, id, lease, err);

	if (r < 0)
		return r;
	return r == 1 && strcmp(lease->domain, apply->request->uuid) == 0 && lease->writer == getpid() &&
	       lease->state != LEASE_RELEASING;
}

static int still_leased(const struct apply *apply, const char *id, struct lease *lease, struct err *err)
{
	int r = still_ours(apply, id, lease, err);

	if (r == 0)
		return err_set(err, ESTALE, "the domain was released while its vGPU was being created");
	return r < 0 ? r : 0;
}

/*
 * Under the pGPU's lock, nobody drops the lease of a device that may exist. If the device has gone since the lease was
 * written, the lease may still describe that device, so it is rewritten before the creation.
 */
static int lease_creation(const struct apply *apply, const char *id, struct err *err)
{
	struct lease lease;
	int r = still_leased(apply, id, &lease, err);

	if (r < 0 || (lease.state == LEASE_CREATING && lease.origin == LEASE_CREATED))
		return r;
	r = store_lock(apply->store, sys_left_ms(create_last_ms(apply)), err);
	if (r < 0)
		return r;
	r = still_leased(apply, id, &lease, err);
	if (r == 0) {
		lease.state = LEASE_CREATING;
		lease.origin = LEASE_CREATED;
		r = lease_put(apply->store, &lease, err);
	}
	store_unlock(apply->store);
	return r;
}

/* Returns 1 if the device was created, or 0 if it existed. */
static int ensure(const struct apply *apply, const struct step *step, const char *params, struct err *err)
{
	int exists = kernel_exists(apply->store->host, &step->vgpu);
	int64_t end;

	if (exists == -ETIMEDOUT)
		return create_no_answer(err);
	if (exists < 0)
		return err_sys(err, -exists, "vGPU %s: cannot be found", step->vgpu.id);
	if (step->kind == STEP_CREATE && exists)
		return err_set(err, EAGAIN, "created by another process in the meantime");
	if (step->kind == STEP_ADOPT && !exists)
		return err_set(err, EAGAIN, "removed by another process in the meantime");
	if (step->kind == STEP_KEEP && wait_closed(apply, step, err) < 0)
		return -err->code;
	if (!exists && lease_creation(apply, step->vgpu.id, err) < 0)
		return -err->code;
	if (!exists)
		return create_vgpu(apply, step, params, err) < 0 ? -err->code : 1;
	end = sys_now_ms() + create_within(apply->policy->create_timeout_s * 1000, apply->end_ms);
	if (create_complete(apply, step, may_be_unfinished(apply, step) ? params : NULL, end, err) < 0)
		return -err->code;
	return step->kind == STEP_ADOPT ? create_adopted(apply, step, params, end, err) : 0;
}

int apply_present(struct apply *apply, const struct step *step, struct err *err)
{
	struct step there = *step;

	there.kind = STEP_ADOPT;
	if ((step->kind == STEP_KEEP && wait_closed(apply, step, err) < 0) || wait_removed(apply, step, err) < 0)
		return -err->code;
	/* A plain VF always exists, so there is nothing more to check. */
	return step->vgpu.framework == FW_VF ? 0 : ensure(apply, &there, "", err);
}

/* A device that we created is for the guest, unless it had a definition before: then it belongs to a manager's pool. */
static bool is_for_guest(const struct apply *apply, const struct vgpu_ref *vgpu, bool made)
{
	int64_t window_ms = (int64_t)apply->policy->start_grace_s * 1000;

	return (made && !mdevctl_defines(apply->store->host, vgpu->id)) ||
	       affinity_is_for_guest(apply->store, vgpu->id) || affinity_is_new(apply->store, vgpu->id, window_ms);
}

static int settle(struct apply *apply, const struct step *step, bool made, struct err *err)
{
	struct lease lease;
	int r = store_lock(apply->store, sys_left_ms(create_last_ms(apply)), err);

	if (r < 0)
		return r;
	r = still_leased(apply, step->vgpu.id, &lease, err);
	if (r == 0) {
		lease.state = LEASE_ACTIVE;
		/* Until now the origin was `created`, so that an undo would remove the device, whoever its owner is. */
		if (made || lease.origin == LEASE_CREATED)
			lease.origin = owner_origin(step->owner);
		r = lease_put(apply->store, &lease, err);
	}
	store_unlock(apply->store);
	if (r < 0)
		return r;
	affinity_put(apply->store, &lease, is_for_guest(apply, &lease.vgpu, made));
	seen_forget(apply->store, step->vgpu.id);
	return 0;
}

/* If the domain had a lease before, marks it `releasing`, because the kernel may still be creating its device. */
static void drop_lease(struct apply *apply, const struct step *step)
{
	struct applied *done = find_done(apply, step->vgpu.id);
	struct lease lease;
	struct err err;

	if (step->kind == STEP_KEEP || !done)
		return;
	if (still_ours(apply, step->vgpu.id, &lease, &err) == 1) {
		done->before.state = LEASE_RELEASING;
		if (done->had)
			lease_put(apply->store, &done->before, &err);
		else
			lease_drop(apply->store, step->vgpu.id, &err);
	}
	forget_done(apply, step->vgpu.id);
}

static void drop_failed(struct apply *apply, const struct step *steps, size_t n)
{
	struct err err;

	if (store_lock(apply->store, sys_left_ms(create_last_ms(apply)), &err) < 0)
		return;
	for (size_t i = 0; i < n; i++)
		drop_lease(apply, &steps[i]);
	store_unlock(apply->store);
}

int apply_step(struct apply *apply, const struct step *steps, size_t n, size_t i, const char *params, struct err *err)
{
	const struct step *step = &steps[i];
	const struct event_about about = { .vgpu = &step->vgpu,
					   .domain = apply->request->uuid,
					   .name = apply->request->name };
	int r = wait_turn(apply, step, err);
	autoclose int lock = apply->lock;
	bool made, stays;

	if (r == 0)
		r = ensure(apply, step, params, err);
	made = r == 1;
	if (made && find_done(apply, step->vgpu.id))
		find_done(apply, step->vgpu.id)->made = true;
	/* After a timeout the lease stays `creating`, and is collected when the write ends. */
	stays = r == -ETIMEDOUT;
	if (r >= 0)
		r = settle(apply, step, made, err);
	/* Remove the device under the pGPU's lock, or else keep its lease: no device may stay without a lease. */
	if (r < 0 && made && create_undo(apply, step, err) < 0) {
		stays = true;
		r = -err->code;
	}
	if (stays)
		forget_done(apply, step->vgpu.id);
	else if (r < 0)
		drop_failed(apply, step, n - i);
	else
		event_log(made ? EVENT_CREATED : EVENT_ADOPTED, &about, "%s: domain %s: %s %s, %s on %s", apply->op,
			  apply->request->name, made ? "created" : "adopted", step->vgpu.id, step->vgpu.type,
			  step->vgpu.parent);
	return r;
}

/* Drops a reservation. Marks any other lease `releasing` and returns 1, because its device exists. */
static int undo_lease(const struct apply *apply, const struct applied *done, struct err *err)
{
	struct lease lease;
	int r = store_lock(apply->store, sys_left_ms(create_last_ms(apply)), err);

	if (r < 0)
		return r;
	r = still_ours(apply, done->id, &lease, err);
	if (r == 1 && lease.state == LEASE_RESERVED) {
		r = lease_drop(apply->store, done->id, err);
	} else if (r == 1) {
		lease.state = LEASE_RELEASING;
		if (done->made)
			lease.origin = LEASE_CREATED;
		r = lease_put(apply->store, &lease, err) < 0 ? -err->code : 1;
	}
	store_unlock(apply->store);
	return r;
}

void apply_undo(struct apply *apply)
{
	struct policy policy = *apply->policy;

	/* No guest has used it, so the driver has nothing to clean up. */
	policy.driver_cleanup_s = 0;
	while (apply->ndone > 0) {
		const struct applied *done = &apply->done[--apply->ndone];
		struct err err = { 0 };
		int r = undo_lease(apply, done, &err);

		if (r == 1)
			r = release_finish(apply->store, &policy, done->id,
					   sys_now_ms() + create_within(UNDO_MS, create_last_ms(apply)), &err);
		if (r < 0)
			log_warn("%s: domain %s: %s: left to the release: %s", apply->op, apply->request->name,
				 done->id, err.text);
	}
}
