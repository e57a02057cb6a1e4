/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Starts without a lease: a domain whose vGPUs all exist starts even if nothing can be leased, because there is no
 * configuration, no permission, or no writable state in /run.
 */
#include <errno.h>
#include <string.h>

#include "sys/log.h"
#include "device/apply.h"
#include "host/kernel.h"
#include "internal.h"

int unleased_pass(const struct lifecycle *lifecycle, const char *why, enum err_about about, struct err *err)
{
	for (size_t i = 0; i < lifecycle->request->nvgpus; i++) {
		const struct vgpu_request *req = &lifecycle->request->vgpus[i];
		const struct vgpu_ref vgpu = kernel_vgpu(req->id);
		int r = kernel_exists(lifecycle->host, &vgpu);

		if (!req->any && (req->kind == REQUEST_PCI || r == 1))
			continue;
		if (r < 0)
			return err_sys(err, -r, "vGPU %s", req->id);
		err_set(err, ENOENT, "vGPU %s: does not exist and cannot be created: %s", req->id, why);
		return err_about(err, about);
	}
	return 0;
}

/* A command on a running guest (`op`) must not report a lease that it has not written. */
static bool is_unwritable(const struct lifecycle *lifecycle, int r)
{
	return !lifecycle->op && (r == -EROFS || r == -ENOSPC || r == -EDQUOT);
}

static int passed(const struct lifecycle *lifecycle, const struct err *why)
{
	log_warn("prepare: domain %s: starts without a lease; %s", lifecycle->request->name, why->text);
	return 0;
}

int unleased_unopened(const struct lifecycle *lifecycle, int r, struct err *err)
{
	const struct err why = *err;

	return is_unwritable(lifecycle, r) ? unleased_pass(lifecycle, why.text, ERR_STATE, err) : r;
}

int unleased_unplanned(const struct lifecycle *lifecycle, int r, struct err *err)
{
	const struct err why = *err;

	r = unleased_unopened(lifecycle, r, err);
	return r < 0 ? r : passed(lifecycle, &why);
}

/*
 * True if the step needs its lease written: a device created without a lease would belong to nobody, and a release that
 * has begun could not be stopped. Any other existing device can be used without a lease.
 */
static bool needs_lease(const struct step *step, const struct leases *leases)
{
	const struct lease *lease = lease_find(leases, step->vgpu.id);

	return (step->kind == STEP_CREATE && step->vgpu.framework != FW_VF) ||
	       (step->kind == STEP_KEEP && !(lease && lease->state == LEASE_ACTIVE));
}

int unleased_unwritten(const struct lifecycle *lifecycle, const struct plan *plan, const struct leases *leases, int r,
		       struct err *err)
{
	if (!is_unwritable(lifecycle, r))
		return r;
	for (size_t i = 0; i < plan->nsteps; i++)
		if (needs_lease(&plan->steps[i], leases))
			return err_in(err, "vGPU %s", plan->steps[i].vgpu.id);
	return 0;
}

int unleased_planned(struct apply *apply, const struct lifecycle *lifecycle, const struct plan *plan,
		     const struct leases *leases, int r, struct err *err)
{
	const struct err why = *err;

	r = unleased_unwritten(lifecycle, plan, leases, r, err);
	if (r < 0)
		return r;
	apply_undo(apply);
	for (size_t i = 0; i < plan->nsteps; i++)
		if (apply_present(apply, &plan->steps[i], err) < 0)
			return err_in(err, "vGPU %s", plan->steps[i].vgpu.id);
	return passed(lifecycle, &why);
}
