/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Carrying out a plan's steps: the leases first, then the kernel; undone on failure. */
#include "device/apply.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/timed_child.h"
#include "device/release.h"
#include "host/vfio_users.h"
#include "device/kernel.h"
#include "base/log.h"
#include "state/history.h"

enum { UNDO_MS = 2000, OPEN_STEP_MS = 50, LOOK_MS = 250 };

void apply_start(struct apply *apply, struct store *store, const struct policy *policy, const struct request *request,
		 const char *op)
{
	*apply = (struct apply){ .store = store, .policy = policy, .request = request, .op = op };
	apply->wait_by_ms = host_now_ms() + (int64_t)policy->lock_timeout_s * 1000;
	apply->end_ms = apply->wait_by_ms + (int64_t)policy->create_timeout_s * 1000;
	apply->done = calloc(request->nvgpus + 1, sizeof(*apply->done));
	if (!apply->done)
		abort();
}

void apply_end(struct apply *apply)
{
	free(apply->done);
	apply->done = NULL;
}

static struct lease lease_of(const struct apply *apply, const struct step *step, enum lease_state state)
{
	struct lease lease = { .vgpu = step->vgpu,
			       .state = state,
			       .numa = step->numa,
			       .framebuffer_mib = step->framebuffer_mib,
			       .origin = step->kind == STEP_CREATE ? LEASE_CREATED : LEASE_ADOPTED };

	memcpy(lease.domain, apply->request->uuid, sizeof(lease.domain));
	memcpy(lease.name, apply->request->name, sizeof(lease.name));
	memcpy(lease.project, apply->request->project, sizeof(lease.project));
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

static int lease_step(struct apply *apply, const struct step *step, struct err *err)
{
	struct lease lease = lease_of(apply, step, step->kind == STEP_CREATE ? LEASE_CREATING : LEASE_ACTIVE);
	struct lease was;
	int r = lease_get(apply->store, step->vgpu.id, &was, err);
	bool had = r == 1 && was.state != LEASE_RESERVED;

	if (r < 0)
		return r;
	/*
	 * A device of the domain's own keeps its origin; under a reservation nothing was made, so it is somebody
	 * else's.
	 */
	if (had && step->kind == STEP_KEEP)
		lease.origin = was.origin;
	r = lease_put(apply->store, &lease, err);
	if (r == 0 && step->kind != STEP_KEEP)
		add_done(apply, step->vgpu.id, had ? &was : NULL);
	return r;
}

int apply_lease(struct apply *apply, const struct step *steps, size_t n, struct err *err)
{
	for (size_t i = 0; i < n; i++) {
		/* Of an earlier round of this run: leased and made already. */
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

		/*
		 * A device of its own that waits to be given back (a restore right after a save) stays as it is:
		 * prepare takes it over.
		 */
		if (r == 1 && was.state != LEASE_RESERVED)
			continue;
		if (r < 0)
			return r;
		lease.deadline_ms = host_now_ms() + (int64_t)apply->policy->reserve_ttl_s * 1000;
		r = lease_put(apply->store, &lease, err);
		if (r < 0)
			return r;
		add_done(apply, steps[i].vgpu.id, NULL);
	}
	return 0;
}

struct creation {
	const struct host *host;
	struct vgpu_ref vgpu;
	const char *params;
};

/* The kernel's count decides, then its answer: the driver can hang in either. */
static int create_device(void *arg, struct err *err)
{
	const struct creation *creation = arg;
	int r = kernel_available(creation->host, &creation->vgpu, err);

	if (r == 0)
		return err_set(err, ENOSPC, "full when it came to it");
	return r < 0 ? r : kernel_create(creation->host, &creation->vgpu, err);
}

static int set_params(void *arg, struct err *err)
{
	const struct creation *creation = arg;
	return kernel_set_params(creation->host, &creation->vgpu, creation->params, err);
}

/* So many seconds, but not beyond that time; in milliseconds. */
static int within(int seconds, int64_t end_ms)
{
	int left = host_left_ms(end_ms);

	return left < seconds * 1000 ? left : seconds * 1000;
}

/* How long a lock is waited for that is needed to note how it ended, or to undo it. */
static int last_ms(const struct apply *apply)
{
	return host_left_ms(apply->end_ms + UNDO_MS);
}

/* Undoing one thing takes no longer than this, however much time is left. */
static int undo_ms(const struct apply *apply)
{
	int left = last_ms(apply);

	return left < UNDO_MS ? left : UNDO_MS;
}

/*
 * Removes what this step made, under the pGPU's lock, which is still held. -ETIMEDOUT, behind what went wrong before,
 * where it cannot: a monitor can have opened it the moment it appeared, and such a removal would never end.
 */
static int unmake(const struct apply *apply, const struct step *step, struct err *why)
{
	struct err err;

	if (release_remove(apply->store, &step->vgpu, apply->lock, undo_ms(apply), &err) == 0)
		return 0;
	err_in(&err, "%s; nor can it be removed again", why->text);
	*why = err;
	return err_recode(why, ETIMEDOUT);
}

/* This write may never come back, too. */
static int give_params(const struct apply *apply, struct creation *creation, int wait_ms, struct err *err)
{
	int r = timed_child_run(set_params, creation, wait_ms, err);

	if (r == -ETIMEDOUT)
		err_set(err, ETIMEDOUT,
			"setting the parameters hangs in the kernel beyond create_timeout (%d s); see dmesg",
			apply->policy->create_timeout_s);
	return r;
}

/* What is left of create_timeout, but time enough for one that answers at once. */
static int left_ms(int64_t end)
{
	int64_t left = end - host_now_ms();

	return left > 100 ? (int)left : 100;
}

/*
 * The creation was broken off: its process was killed. Its write has ended with it, and the pGPU's lock is ours, so
 * that the kernel tells what came of it: what is there was made by us. -ETIMEDOUT where it does not: it may come yet.
 */
static int look_again(const struct creation *creation, struct err *err)
{
	int exists = kernel_exists(creation->host, &creation->vgpu);

	if (exists < 0)
		return err_recode(err, ETIMEDOUT);
	return exists ? 0 : -err->code;
}

/* Under the pGPU's lock. */
static int create(const struct apply *apply, const struct step *step, const char *params, struct err *err)
{
	struct creation creation = { .host = apply->store->host, .vgpu = step->vgpu, .params = params };
	int wait_ms = within(apply->policy->create_timeout_s, apply->end_ms), r;
	int64_t end = host_now_ms() + wait_ms;

	if (wait_ms == 0)
		return err_set(err, ECANCELED, "no time is left to create %s on %s (lock_timeout, create_timeout)",
			       step->vgpu.type, step->vgpu.parent);
	r = timed_child_run(create_device, &creation, wait_ms, err);
	if (r == -ETIMEDOUT)
		return err_set(
			err, ETIMEDOUT,
			"%s: creating %s hangs in the kernel for over %d s (create_timeout); see dmesg, the vGPU is collected when it ends",
			step->vgpu.parent, step->vgpu.type, apply->policy->create_timeout_s);
	if (r == -EINTR)
		r = look_again(&creation, err);
	/* Its own EAGAIN (a probe that is deferred) is a failure of this candidate, not a reason to plan anew. */
	if (r < 0)
		return r == -EAGAIN ? err_recode(err, EBUSY) : r;
	r = kernel_wait_complete(creation.host, &creation.vgpu, left_ms(end), err);
	if (r == 0 && *params)
		r = give_params(apply, &creation, left_ms(end), err);
	/* What did not become whole is removed again, and a failure of this candidate, not a kernel that hangs. */
	if (r < 0)
		return unmake(apply, step, err) < 0 ? -err->code : err_recode(err, EIO);
	return 0;
}

/* A device of our own that its last QEMU still holds: that one is on its way out, or it is not. */
static int wait_closed(const struct apply *apply, const struct step *step, struct err *err)
{
	int64_t end = host_now_ms() + within(apply->policy->release_timeout_s, apply->wait_by_ms);

	for (;;) {
		int64_t least = host_now_ms() + LOOK_MS;
		struct vfio_users *users = vfio_users_read(apply->store->host, least < end ? end : least);
		pid_t pid = 0;
		int r = vfio_users_open(users, apply->store->host, step->vgpu.id, &pid, err);

		vfio_users_free(users);
		/* Where it is not known, VFIO says so to whoever comes second. */
		if (r <= 0)
			return 0;
		if (host_now_ms() >= end)
			return err_set(err, EBUSY, "process %d has it open, and did not let go within %d s", (int)pid,
				       apply->policy->release_timeout_s);
		host_sleep_ms(OPEN_STEP_MS);
	}
}

/* 1: made; 0: it was there. */
static int ensure(const struct apply *apply, const struct step *step, const char *params, struct err *err)
{
	int exists = kernel_exists(apply->store->host, &step->vgpu);

	if (exists == -ETIMEDOUT)
		return err_set(err, EBUSY, "its driver does not answer reads of sysfs: see dmesg");
	if (exists < 0)
		return err_sys(err, -exists, "vGPU %s cannot be looked for", step->vgpu.id);
	if (step->kind == STEP_CREATE && exists)
		return err_set(err, EAGAIN, "somebody else made it meanwhile");
	if (step->kind == STEP_ADOPT && !exists)
		return err_set(err, EAGAIN, "it went away meanwhile");
	if (step->kind == STEP_KEEP && wait_closed(apply, step, err) < 0)
		return -err->code;
	if (!exists)
		return create(apply, step, params, err) < 0 ? -err->code : 1;
	return kernel_wait_complete(apply->store->host, &step->vgpu,
				    within(apply->policy->create_timeout_s, apply->end_ms), err);
}

/*
 * Is the lease still what this run wrote? Not so where a release of the same domain came in between, or another start
 * of it: libvirtd was killed, and this hook goes on alone.
 */
static int still_ours(const struct apply *apply, const char *id, struct lease *lease, struct err *err)
{
	int r = lease_get(apply->store, id, lease, err);

	if (r < 0)
		return r;
	return r == 1 && strcmp(lease->domain, apply->request->uuid) == 0 && lease->writer == getpid() &&
	       lease->state != LEASE_RELEASING;
}

static int settle(struct apply *apply, const struct step *step, bool made, struct err *err)
{
	struct lease lease;
	int r = store_lock(apply->store, last_ms(apply), err);

	if (r < 0)
		return r;
	r = still_ours(apply, step->vgpu.id, &lease, err);
	if (r == 0) {
		r = err_set(err, ECANCELED, "the domain was released while its vGPU was being made");
	} else if (r == 1) {
		lease.state = LEASE_ACTIVE;
		if (made)
			lease.origin = LEASE_CREATED;
		r = lease_put(apply->store, &lease, err);
	}
	store_unlock(apply->store);
	if (r < 0)
		return r;
	affinity_put(apply->store, &lease);
	seen_forget(apply->store, step->vgpu.id);
	return 0;
}

/* A lease that the domain held before is one to be given back: what the kernel may still be making is ours. */
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

static int drop_failed(struct apply *apply, const struct step *steps, size_t n, struct err *why)
{
	struct err err;

	if (store_lock(apply->store, last_ms(apply), &err) == 0) {
		for (size_t i = 0; i < n; i++)
			drop_lease(apply, &steps[i]);
		store_unlock(apply->store);
	}
	return -why->code;
}

int apply_step(struct apply *apply, const struct step *steps, size_t n, size_t i, const char *params, struct err *err)
{
	const struct step *step = &steps[i];
	bool made;
	int r;

	autoclose int lock = store_lock_pgpu(apply->store, step->vgpu.pgpu, host_left_ms(apply->wait_by_ms), err);
	/* A card that somebody keeps is no reason not to try the next. */
	if (lock == -ETIMEDOUT)
		err_recode(err, EBUSY);
	if (lock < 0)
		return drop_failed(apply, step, n - i, err);
	apply->lock = lock;
	r = ensure(apply, step, params, err);
	if (r == -ETIMEDOUT) {
		/* Its lease stays `creating`: collected when the write ends. */
		forget_done(apply, step->vgpu.id);
		return r;
	}
	if (r < 0)
		return drop_failed(apply, step, n - i, err);
	made = r == 1;
	r = settle(apply, step, made, err);
	/*
	 * Still under the pGPU's lock: what has no lease that says it is ours must not stay. Where it must, that does.
	 */
	if (r < 0 && made && unmake(apply, step, err) < 0) {
		forget_done(apply, step->vgpu.id);
		return -err->code;
	}
	if (r < 0)
		return drop_failed(apply, step, n - i, err);
	log_info("%s: domain %s: %s %s, %s on %s", apply->op, apply->request->name, made ? "made" : "took",
		 step->vgpu.id, step->vgpu.type, step->vgpu.parent);
	return 0;
}

/* What was only promised is dropped; what exists is to be given back: 1. */
static int undo_lease(const struct apply *apply, const char *id, struct err *err)
{
	struct lease lease;
	int r = store_lock(apply->store, last_ms(apply), err);

	if (r < 0)
		return r;
	r = still_ours(apply, id, &lease, err);
	if (r == 1 && lease.state == LEASE_RESERVED) {
		r = lease_drop(apply->store, id, err);
	} else if (r == 1) {
		lease.state = LEASE_RELEASING;
		r = lease_put(apply->store, &lease, err) < 0 ? -err->code : 1;
	}
	store_unlock(apply->store);
	return r;
}

void apply_undo(struct apply *apply)
{
	struct policy policy = *apply->policy;

	/* No guest has run on it: the driver has nothing to clean up. */
	policy.driver_cleanup_s = 0;
	while (apply->ndone > 0) {
		const char *id = apply->done[--apply->ndone].id;
		struct err err = { 0 };
		int r = undo_lease(apply, id, &err);

		if (r == 1)
			r = release_finish(apply->store, &policy, id, host_now_ms() + undo_ms(apply), &err);
		if (r < 0)
			log_warn("%s: domain %s: %s: left to the release: %s", apply->op, apply->request->name, id,
				 err.text);
	}
}
