/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Creates a planned vGPU, or waits for an existing one, before the operation's deadline. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "sys/log.h"
#include "sys/timed_child.h"
#include "act/release.h"
#include "look/mdevctl_files.h"
#include "internal.h"

enum { LEAST_MS = 100, LOOK_MS = 250, WAIT_STEP_MS = 50 };

static int no_answer(struct err *err)
{
	return err_set(err, EBUSY, "its driver does not answer reads of sysfs; see dmesg");
}

struct creation {
	const struct apply *apply;
	const struct host *host;
	const struct step *step;
	const struct vgpu_ref *vgpu;
	int work;           /* the vGPU's work lock */
	int64_t end;        /* the deadline of the kernel and its driver */
	const char *params; /* for vgpu_params; "": none; NULL: set no parameters and no attributes */
	struct mdev_attrs attrs;
};

/* Reads the capacity in the child that creates, because a second child would cost as much as a hundred reads. */
static int create_device(void *arg, struct err *err)
{
	const struct creation *creation = arg;
	int r = framework_of(creation->vgpu)->available(creation->host, creation->vgpu, err);

	if (r == 0)
		return err_set(err, ENOSPC, "no instance left at creation time");
	if (r < 0)
		return r == -ETIMEDOUT ? no_answer(err) : r;
	r = kernel_create(creation->host, creation->vgpu, err);
	/* ETIMEDOUT would mean a hang, but this ETIMEDOUT is an error of the driver. */
	return r == -ETIMEDOUT ? err_recode(err, EIO) : r;
}

static int set_params(void *arg, struct err *err)
{
	const struct creation *creation = arg;
	int r = 0;

	for (size_t i = 0; r == 0 && i < creation->attrs.n; i++)
		r = kernel_set_attr(creation->host, creation->vgpu, creation->attrs.list[i].name,
				    creation->attrs.list[i].value, err);
	if (r == 0 && *creation->params)
		r = kernel_set_params(creation->host, creation->vgpu, creation->params, err);
	return r == -ETIMEDOUT ? err_recode(err, EIO) : r;
}

/* Returns the time until `end`, but at least LEAST_MS, which is enough for a driver that answers at once. */
static int left_ms(const struct creation *creation)
{
	int left = sys_left_ms(creation->end);

	return left > LEAST_MS ? left : LEAST_MS;
}

static int run_child(struct creation *creation, int (*write)(void *, struct err *), int answer_ms, struct err *err)
{
	const int locks[] = { creation->apply->lock, creation->work };

	return timed_child_run(write, creation, creation->host->root, locks, left_ms(creation), answer_ms, err);
}

static int write_create(struct creation *creation, struct err *err)
{
	int r = run_child(creation, create_device, BOUNDED_ANSWER_MS, err), exists;

	if (r == -EHOSTDOWN) {
		/* The child hangs in a read, and will not write. The work lock ends when the lease is dropped. */
		store_unlock_pgpu(creation->apply->lock);
		return no_answer(err);
	}
	if (r == -ETIMEDOUT)
		return err_set(
			err, ETIMEDOUT,
			"%s: creating %s hangs in the kernel for over %d s (create_timeout); see dmesg; once the write has returned, vgpu-leased, a start or gc removes the vGPU (troubleshooting: creating-hangs-in-the-kernel)",
			creation->vgpu->parent, creation->vgpu->type, creation->apply->policy->create_timeout_s);
	/* The child was killed. If the driver does not answer, the device may still appear. */
	if (r == -EINTR) {
		exists = kernel_exists(creation->host, creation->vgpu);
		r = exists < 0 ? err_recode(err, ETIMEDOUT) : exists ? 0 : r;
	}
	/* EAGAIN would mean to plan again, but the driver's EAGAIN (a deferred probe) is a failure of the candidate. */
	return r == -EAGAIN ? err_recode(err, EBUSY) : r;
}

static int read_attrs(struct creation *creation, struct err *err)
{
	struct definition definition;
	int r = mdevctl_definition(&definition, creation->host, creation->vgpu->id, err);

	if (r != 1 || strcmp(definition.type, creation->vgpu->type) != 0)
		return r < 0 ? r : 0;
	return mdevctl_attrs(&creation->attrs, creation->host, &definition, err);
}

/* Sets the attributes and the parameters in a child, because these writes can hang. */
static int write_params(struct creation *creation, struct err *err)
{
	int r = *creation->params || creation->attrs.n ? run_child(creation, set_params, 0, err) : 0;

	return r == -ETIMEDOUT
		       ? err_set(err, ETIMEDOUT,
				 "setting the parameters hangs in the kernel beyond create_timeout (%d s); see dmesg (troubleshooting: setting-the-parameters)",
				 creation->apply->policy->create_timeout_s)
		       : r;
}

/* An adopted vGPU gets parameters, but no attributes. If they cannot be set, only a hang is an error. */
static int complete(struct creation *creation, struct err *err)
{
	const struct apply *apply = creation->apply;
	bool adopts = creation->step->kind == STEP_ADOPT;
	int r;

	/* ETIMEDOUT would mean that a write hangs. */
	if (kernel_wait_complete(creation->host, creation->vgpu, left_ms(creation), err) < 0)
		return err->code == ETIMEDOUT ? err_recode(err, EBUSY) : -err->code;
	if (!creation->params)
		return 0;
	if (!adopts && read_attrs(creation, err) < 0)
		return -err->code;
	r = write_params(creation, err);
	if (r == 0 || r == -ETIMEDOUT || !adopts)
		return r;
	log_warn("%s: domain %s: vGPU %s is used without its parameters (%s): %s", apply->op, apply->request->name,
		 creation->vgpu->id, creation->params, err->text + err->cause);
	return 0;
}

static int create(struct creation *creation, struct applied *done, struct err *err)
{
	if (sys_left_ms(creation->end) == 0)
		return err_set(
			err, ECANCELED,
			"no time is left within lock_timeout and create_timeout to create %s on %s (troubleshooting: no-time-is-left)",
			creation->vgpu->type, creation->vgpu->parent);
	if (write_create(creation, err) < 0)
		return -err->code;
	done->made = true;
	/* With EIO, apply_step() removes the device. ETIMEDOUT would leave the device. */
	return complete(creation, err) < 0 ? err_recode(err, EIO) : 0;
}

/* Waits until the domain's previous QEMU has closed the device. If `released`, the driver may still remove it. */
static int wait_closed(const struct apply *apply, const struct step *step, bool released, struct err *err)
{
	int64_t began_ms = sys_now_ms(), by_ms = began_ms + (int64_t)apply->policy->release_timeout_s * 1000;
	int64_t end = sooner(by_ms, apply->wait_by_ms);
	/* Also look if the time was over before. */
	int64_t look_by_ms = (end > began_ms ? end : began_ms) + LOOK_MS;
	int r = release_wait_closed(apply->store, step->vgpu.id, end, look_by_ms, err);
	char holder[128];

	if (r == 0 && released) {
		r = release_let_driver(apply->store, apply->policy, &step->vgpu, apply->wait_by_ms,
				       apply->wait_by_ms + LOOK_MS, err);
		return r < 0 ? err_recode(err, EBUSY) : 0;
	}
	/* Continue if it is unknown whether the device is open, because VFIO refuses a second opener. */
	if (r != -EBUSY)
		return 0;
	text_copy(holder, sizeof(holder), err->text + err->cause);
	return err_set(err, EBUSY, "%s, still after %d s (%s)", holder, (int)((sys_now_ms() - began_ms) / 1000),
		       end == by_ms ? "release_timeout" : "lock_timeout");
}

int create_ensure(const struct apply *apply, const struct step *step, struct applied *done, const char *params,
		  struct err *err)
{
	const struct host *host = apply->store->host;
	struct creation creation = { apply, host, step, &step->vgpu, done->work, .params = params };
	bool unfinished = done->kept && done->now.state == LEASE_CREATING;
	int exists, r;

	if (step->kind == STEP_KEEP && wait_closed(apply, step, done->released, err) < 0)
		return -err->code;
	/* A plain VF exists before it is leased. */
	exists = step->vgpu.framework == FW_VF ? step->kind != STEP_CREATE : kernel_exists(host, &step->vgpu);
	if (exists == -ETIMEDOUT)
		return no_answer(err);
	if (exists < 0)
		return err_sys(err, -exists, "vGPU %s: cannot be found", step->vgpu.id);
	if (step->kind == STEP_CREATE && exists)
		return err_set(err, EAGAIN, "created by another process in the meantime");
	if (step->kind != STEP_CREATE && !exists)
		return err_set(err, EAGAIN, "removed by another process in the meantime");
	/* The last creation may begin at wait_by_ms. */
	creation.end = sooner(sys_now_ms(), apply->wait_by_ms) + (int64_t)apply->policy->create_timeout_s * 1000;
	/* An unfinished creation may have left the device without its parameters. */
	if (step->kind == STEP_KEEP && !unfinished)
		creation.params = NULL;
	r = step->kind == STEP_CREATE ? create(&creation, done, err) : complete(&creation, err);
	free(creation.attrs.list);
	return r;
}

int apply_present(struct apply *apply, const struct step *step, struct err *err)
{
	struct applied none = { .work = -1 };

	/* Only a lease could stop a pending release, which removes the closed device. So wait for its end. */
	if (step->kind == STEP_KEEP && wait_closed(apply, step, false, err) < 0)
		return -err->code;
	while (store_check_vgpu(apply->store, step->vgpu.id, err) < 0) {
		if (sys_now_ms() >= apply->wait_by_ms)
			return err_recode(err, EBUSY);
		sys_sleep_ms(WAIT_STEP_MS);
	}
	/* A STEP_CREATE here is a plain VF (needs_lease()), which exists already. */
	return step->kind == STEP_CREATE ? 0 : create_ensure(apply, step, &none, NULL, err);
}
