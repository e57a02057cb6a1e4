/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Creates a planned vGPU, or waits for an existing one, before the operation's deadline. */
#include <errno.h>
#include <string.h>

#include "base/auto.h"
#include "base/text.h"
#include "sys/log.h"
#include "sys/timed_child.h"
#include "act/release.h"
#include "look/mdevctl_files.h"
#include "internal.h"

enum { MOST_TIMES = 4 }; /* limit of apply_has_time(), in lock_timeouts */
enum { LEAST_MS = 100, LOOK_MS = 250 };

int create_no_answer(struct err *err)
{
	return err_set(err, EBUSY, "its driver does not answer reads of sysfs; see dmesg");
}

struct creation {
	const struct host *host;
	const struct vgpu_ref *vgpu;
	const char *params;
	const struct mdev_attr *attrs;
	size_t nattrs;
	int work;
};

static int check_capacity(const struct creation *creation, struct err *err)
{
	int r = kernel_available(creation->host, creation->vgpu, err);

	if (r == 0)
		return err_set(err, ENOSPC, "no instance left at creation time");
	return r == -ETIMEDOUT ? create_no_answer(err) : r;
}

/* One child counts and writes, because a child costs as much as a hundred reads. */
static int create_device(void *arg, struct err *err)
{
	const struct creation *creation = arg;
	int r = check_capacity(creation, err);

	if (r < 0)
		return r;
	r = kernel_create(creation->host, creation->vgpu, err);
	/* This ETIMEDOUT is the driver's own error, not a hang. */
	return r == -ETIMEDOUT ? err_recode(err, EIO) : r;
}

static int set_params(void *arg, struct err *err)
{
	const struct creation *creation = arg;
	int r = 0;

	for (size_t i = 0; r == 0 && i < creation->nattrs; i++)
		r = kernel_set_attr(creation->host, creation->vgpu, creation->attrs[i].name, creation->attrs[i].value,
				    err);
	if (r == 0 && *creation->params)
		r = kernel_set_params(creation->host, creation->vgpu, creation->params, err);
	return r == -ETIMEDOUT ? err_recode(err, EIO) : r;
}

void create_times(struct apply *apply, int64_t since_ms)
{
	apply->wait_by_ms = since_ms + (int64_t)apply->policy->lock_timeout_s * 1000;
	apply->end_ms = apply->wait_by_ms + (int64_t)apply->policy->create_timeout_s * 1000;
}

bool apply_has_time(struct apply *apply)
{
	int64_t since_ms = apply->begun_ms;
	int64_t last_ms = since_ms + (int64_t)(MOST_TIMES - 1) * apply->policy->lock_timeout_s * 1000;
	autoleases struct leases leases = { 0 };
	struct err ignored;

	if (sys_now_ms() < apply->wait_by_ms)
		return true;
	if (lease_list(apply->store, &leases, &ignored) < 0)
		return false;
	for (size_t i = 0; i < leases.n; i++)
		if (leases.list[i].since_ms > since_ms && strcmp(leases.list[i].domain, apply->request->uuid) != 0)
			since_ms = leases.list[i].since_ms;
	create_times(apply, since_ms < last_ms ? since_ms : last_ms);
	return sys_now_ms() < apply->wait_by_ms;
}

int apply_lock(struct apply *apply, struct err *err)
{
	int64_t began_ms = sys_now_ms();
	int r;

	do
		r = store_lock(apply->store, sys_left_ms(apply->wait_by_ms), err);
	while (r == -ETIMEDOUT && apply_has_time(apply));
	/* Report the whole wait, not only its last part. */
	if (r == -ETIMEDOUT)
		store_lock_holder(apply->store, NULL, (int)(sys_now_ms() - began_ms), err);
	return r;
}

int create_within(int ms, int64_t end_ms)
{
	int left = sys_left_ms(end_ms);

	return left < ms ? left : ms;
}

/* The time until `end`, but at least enough for a driver that answers at once. */
static int left_ms(int64_t end)
{
	int left = sys_left_ms(end);

	return left > LEAST_MS ? left : LEAST_MS;
}

int64_t create_last_ms(const struct apply *apply)
{
	return apply->end_ms + UNDO_MS;
}

/*
 * Checks a creation whose child was killed. The write has ended and we hold the locks, so an existing device is ours.
 * -ETIMEDOUT: the driver does not answer, and the device may still appear.
 */
static int look_again(const struct creation *creation, struct err *err)
{
	int exists = kernel_exists(creation->host, creation->vgpu);

	if (exists < 0)
		return err_recode(err, ETIMEDOUT);
	return exists ? 0 : -err->code;
}

static int write_create(const struct apply *apply, struct creation *creation, int64_t end, struct err *err)
{
	const int locks[] = { apply->lock, creation->work };
	int r = timed_child_run(create_device, creation, creation->host->root, locks, left_ms(end), BOUNDED_ANSWER_MS,
				err);

	if (r == -EHOSTDOWN) {
		/*
		 * The child ends after its read and does not write, so it needs no locks. The work lock ends with the
		 * lease.
		 */
		store_unlock_pgpu(apply->lock);
		return create_no_answer(err);
	}
	if (r == -ETIMEDOUT)
		return err_set(
			err, ETIMEDOUT,
			"%s: creating %s hangs in the kernel for over %d s (create_timeout); see dmesg; the vGPU is removed when the write returns (troubleshooting: creating-hangs-in-the-kernel)",
			creation->vgpu->parent, creation->vgpu->type, apply->policy->create_timeout_s);
	if (r == -EINTR)
		r = look_again(creation, err);
	/* EAGAIN from the driver (a deferred probe) fails this candidate. An EAGAIN of ours would mean: plan again. */
	return r == -EAGAIN ? err_recode(err, EBUSY) : r;
}

/* Sets the parameters in a child, because this write can hang too. */
static int write_params(const struct apply *apply, struct creation *creation, int64_t end, struct err *err)
{
	const int locks[] = { apply->lock, creation->work };
	int r = timed_child_run(set_params, creation, creation->host->root, locks, left_ms(end), 0, err);

	return r == -ETIMEDOUT
		       ? err_set(err, ETIMEDOUT,
				 "setting the parameters hangs in the kernel beyond create_timeout (%d s); see dmesg (troubleshooting: setting-the-parameters)",
				 apply->policy->create_timeout_s)
		       : r;
}

/*
 * Reads the attributes that mdevctl would set: those in the UUID's definition, if the definition has the vGPU's type.
 */
static int read_attrs(struct mdev_attr **attrs, size_t *n, const struct creation *creation, struct err *err)
{
	struct definition definition;
	int r = mdevctl_definition(&definition, creation->host, creation->vgpu->id, err);

	if (r != 1 || strcmp(definition.type, creation->vgpu->type) != 0)
		return r < 0 ? r : 0;
	return mdevctl_attrs(attrs, n, creation->host, &definition, err);
}

int create_complete(const struct apply *apply, const struct step *step, int work, const char *params, int64_t end,
		    struct err *err)
{
	struct creation creation = { .host = apply->store->host, .vgpu = &step->vgpu, .params = params, .work = work };
	autofree struct mdev_attr *attrs = NULL;
	int r;

	if (kernel_wait_complete(creation.host, creation.vgpu, left_ms(end), err) < 0)
		return -err->code;
	if (!params)
		return 0;
	if (step->kind != STEP_ADOPT && read_attrs(&attrs, &creation.nattrs, &creation, err) < 0)
		return -err->code;
	creation.attrs = attrs;
	r = *params || creation.nattrs ? write_params(apply, &creation, end, err) : 0;
	if (r == 0 || r == -ETIMEDOUT || step->kind != STEP_ADOPT)
		return r;
	log_warn("%s: domain %s: vGPU %s is used without its parameters (%s): %s", apply->op, apply->request->name,
		 step->vgpu.id, params, err->text + err->cause);
	return 0;
}

int create_vgpu(const struct apply *apply, const struct step *step, struct applied *done, const char *params,
		struct err *err)
{
	struct creation creation = { .host = apply->store->host, .vgpu = &step->vgpu, .work = done->work };
	int wait_ms = create_within(apply->policy->create_timeout_s * 1000, apply->end_ms);
	int64_t end = sys_now_ms() + wait_ms;

	if (wait_ms == 0)
		return err_set(
			err, ECANCELED,
			"no time is left within lock_timeout and create_timeout to create %s on %s (troubleshooting: no-time-is-left)",
			step->vgpu.type, step->vgpu.parent);
	if (write_create(apply, &creation, end, err) < 0)
		return -err->code;
	done->made = true;
	/* Not ETIMEDOUT: apply_step() first tries to remove the device, and returns ETIMEDOUT if that fails. */
	return create_complete(apply, step, done->work, params, end, err) < 0 ? err_recode(err, EIO) : 0;
}

int create_wait_closed(const struct apply *apply, const struct step *step, struct err *err)
{
	int64_t end = sys_now_ms() + create_within(apply->policy->release_timeout_s * 1000, apply->wait_by_ms);
	char holder[128];

	/* If it is unknown whether the device is open, continue: VFIO refuses a second opener. */
	if (release_wait_closed(apply->store->host, step->vgpu.id, end, end + LOOK_MS, err) != -EBUSY)
		return 0;
	text_copy(holder, sizeof(holder), err->text + err->cause);
	return err_set(err, EBUSY, "%s, still after %d s (release_timeout)", holder, apply->policy->release_timeout_s);
}
