/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Plans without carrying out the plan, and prints plans. */
#include "act/preview.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "look/inventory.h"
#include "look/vfio_users.h"
#include "act/release.h"
#include "internal.h"
#include "act/fate_facts.h"

/* Excludes pGPUs whose drivers hang in a creation. */
static void exclude_hung(struct world *world)
{
	for (size_t g = 0; world->mode == PLAN_PREPARE && g < world->inv.npgpus; g++) {
		const char *address = world->inv.pgpus[g]->address;
		struct failed_attempt *attempt;
		struct err err;

		if (!store_lock_hung(world->store, address, policy_create_ms(&world->config->policy)) ||
		    store_lock_holder(world->store, address, 0, &err) == 0)
			continue;
		attempt = mem_add(&world->failed_attempts, &world->nfailed_attempts, sizeof(*attempt));
		attempt->cause = CAUSE_FAILED;
		text_copy(attempt->pgpu, sizeof(attempt->pgpu), address);
		snprintf(attempt->reason, sizeof(attempt->reason), "%s", err.text + err.cause);
	}
}

/* A vGPU that may be in use is never removed, so capacity and quota depend on what only root may read. */
static int check_seen(const struct plan *plan, const struct world *world, struct err *err)
{
	const char *unread;

	if (!err_denied(EACCES) || plan->kind != PLAN_REFUSE ||
	    (plan->refused != REFUSED_CAPACITY && plan->refused != REFUSED_QUOTA))
		return 0;
	for (EACH(const struct inv_device *, device, world->inv.devices, world->inv.ndevices))
		if (vfio_users_open(world->users, world->host, device->vgpu.id, NULL, err) == -EACCES)
			return -EACCES;
	unread = libvirt_files_unread(world->disk, false);
	return unread ? err_set(err, EACCES, "%s", unread) : 0;
}

static int make_plan(struct plan *plan, struct world *world, struct err *err)
{
	exclude_hung(world);
	plan_free(plan);
	plan_make(plan, world);
	if (plan->kind == PLAN_REFUSE && !world->wide) {
		world->wide = true;
		if (survey_ahead(world, INT64_MAX, err) < 0) {
			world->wide = false;
			return -err->code;
		}
		fate_mark(world);
		plan_free(plan);
		plan_make(plan, world);
	}
	return check_seen(plan, world, err);
}

int preview_make(struct preview *p, const struct lifecycle *lifecycle, enum plan_mode mode, struct err *err)
{
	struct world *world = &p->world;
	int r;

	*p = (struct preview){ .lifecycle = lifecycle,
			       .world = lifecycle_world(lifecycle, &p->store, mode),
			       .plan = { .kind = PLAN_STEPS } };
	world->wide = true;
	if (store_open(&p->store, lifecycle->host, false, err) < 0)
		return -err->code;
	r = lifecycle_before_plan(lifecycle, mode, err);
	if (r <= 0)
		return r;
	if (survey_see(world, err) < 0)
		return -err->code;
	fate_mark(world);
	if (lifecycle_refuse_running(world, err) < 0)
		return mode == PLAN_RESTORE ? 0 : -err->code;
	return make_plan(&p->plan, world, err);
}

int preview_plan(struct plan *plan, struct world *world, struct err *err)
{
	return survey_see(world, err) < 0 ? -err->code : make_plan(plan, world, err);
}

static int look_at_leases(struct preview *p, struct err *err)
{
	size_t added = 0;

	for (size_t i = 0; i < p->plan.nsteps; i++) {
		const char *id = p->plan.steps[i].vgpu.id;
		const struct lease *lease = lease_find(&p->world.leases, id);

		/* An arrival only delays the release of the domain's own device. */
		if (p->world.mode != PLAN_PREPARE && lease && lease->state != LEASE_RESERVED)
			continue;
		/* The removals of a PLAN_REMOVE free space. */
		added += !lease && p->plan.kind != PLAN_REMOVE;
		if (lease_would_put(&p->store, id, lease ? 0 : added, err) < 0)
			return -err->code;
	}
	return 0;
}

static int make_xml(struct preview *p, struct err *err)
{
	const struct lifecycle *lifecycle = p->lifecycle;

	if (lifecycle->doc && (p->plan.nsteps == lifecycle->request->nvgpus || p->plan.nremoves) &&
	    rewrite_plan(&p->rewritten, lifecycle->doc, &p->world, &p->plan, err) < 0)
		return -err->code;
	return p->plan.kind == PLAN_REFUSE ? refusal_of_plan(&p->world, &p->plan, err) : 0;
}

int preview_decide(struct preview *p, const struct lifecycle *lifecycle, enum plan_mode mode, struct err *err)
{
	int r = lifecycle->powerless ? 0 : store_would_open(lifecycle->host, err);
	bool planned = r == 0;
	struct err why;

	if (planned && (preview_make(p, lifecycle, mode, err) < 0 || make_xml(p, err) < 0))
		return -err->code;
	if (planned)
		r = look_at_leases(p, err);
	if (r == 0 || mode != PLAN_PREPARE)
		return r;
	why = *err;
	if (unleased_check(lifecycle, planned ? &p->plan : NULL, &p->world.leases, r, err) < 0)
		return -err->code;
	snprintf(p->unleased, sizeof(p->unleased), "%s", why.text);
	plan_free(&p->plan);
	return 0;
}

void preview_end(struct preview *p)
{
	if (!p->lifecycle)
		return;
	free(p->rewritten.xml);
	plan_free(&p->plan);
	survey_end(&p->world);
	store_close(&p->store);
	*p = (struct preview){ 0 };
}

static bool locked_before(const struct plan *plan, size_t step)
{
	for (size_t i = 0; i < step; i++)
		if (plan->steps[i].kind == STEP_CREATE &&
		    strcmp(plan->steps[i].vgpu.pgpu, plan->steps[step].vgpu.pgpu) == 0)
			return true;
	return false;
}

void preview_remarks(struct remarks *out, const struct preview *p, const char *op)
{
	const struct plan *plan = &p->plan;
	const struct policy *policy;
	struct err held;
	char wait[96];
	pid_t pid;

	if (*p->unleased)
		remark_add(out, p->unleased, "starts without a lease");
	if (!p->lifecycle || (!plan->nsteps && plan->kind != PLAN_WAIT))
		return;
	if (*plan->warning)
		remark_add(out, "QEMU ends if the driver here cannot load its state", "%s", plan->warning);
	policy = &p->lifecycle->config->policy;
	if (plan->kind == PLAN_WAIT) {
		snprintf(wait, sizeof(wait), "%s waits up to lock_timeout (%d s) for that, and is refused otherwise",
			 op, policy->lock_timeout_s);
		remark_add(out, wait, "vGPU %s: not available until a creation or removal has ended",
			   p->world.asked->vgpus[plan->refused_vgpu].id);
	}
	if (!config_is_valid(p->lifecycle->config))
		remark_add(out, "until then existing vGPUs are used as they are, and none is created", "%s%s",
			   p->lifecycle->config->why.text, config_fix(p->lifecycle->config));
	snprintf(wait, sizeof(wait), "%s would wait up to %d s for it", op, policy->lock_timeout_s);
	if (store_lock_holder(&p->store, NULL, 0, &held) < 0)
		remark_add(out, wait, "%s", held.text);
	for (size_t i = 0; p->world.mode == PLAN_PREPARE && i < plan->nsteps; i++)
		if (plan->steps[i].kind == STEP_CREATE && !locked_before(plan, i) &&
		    store_lock_holder(&p->store, plan->steps[i].vgpu.pgpu, 0, &held) < 0)
			remark_add(out, wait, "%s", held.text);
	snprintf(wait, sizeof(wait), "%s would wait up to %d s for it", op,
		 (int)sooner(policy->release_timeout_s, policy->lock_timeout_s));
	for (size_t i = 0; p->world.mode == PLAN_PREPARE && p->world.users && i < plan->nsteps; i++)
		if (plan->steps[i].kind == STEP_KEEP &&
		    vfio_users_open(p->world.users, p->store.host, plan->steps[i].vgpu.id, &pid, &held) == 1)
			remark_add(out, wait, "vGPU %s: process %d has it open", plan->steps[i].vgpu.id, (int)pid);
}

static const char *end_of(const struct store *store, const struct lease *lease)
{
	/* A plain VF is never removed, so the text does not mention its device. */
	bool exists = lease->vgpu.framework != FW_VF && kernel_exists(store->host, &lease->vgpu) != 0;

	if (lease->state == LEASE_RESERVED)
		return "drop the reservation of";
	if (!exists)
		return "drop the lease of";
	return release_removes(store, lease) ? "remove" : "keep the device and drop the lease of";
}

int preview_release(FILE *to, const struct store *store, const char *domain, const char *id, struct err *err)
{
	autoleases struct leases leases = { 0 };

	if (lease_list(store, &leases, err) < 0)
		return -err->code;
	for (EACH(const struct lease *, l, leases.list, leases.n)) {
		if (strcmp(l->domain, domain) == 0 && (!id || strcmp(l->vgpu.id, id) == 0))
			fprintf(to, "%s %s, %s on %s\n", end_of(store, l), l->vgpu.id, l->vgpu.type, l->vgpu.parent);
	}
	return 0;
}

const char *plan_word(const struct step *step, enum plan_mode mode)
{
	if (mode != PLAN_PREPARE)
		return "reserve";
	return step->kind == STEP_KEEP ? "keep" : step->kind == STEP_ADOPT ? "adopt" : "create";
}

bool plan_not_chosen(const struct plan *plan, const struct world *world, size_t req, const struct inv_pgpu *card,
		     char why[PLAN_WHY_SIZE])
{
	const struct step *step = req < plan->nsteps ? &plan->steps[req] : NULL;

	if (step && (step->kind != STEP_CREATE || strcmp(step->vgpu.pgpu, card->address) == 0))
		return false;
	for (EACH(const struct verdict *, v, plan->verdicts, plan->nverdicts)) {
		if (v->req != req || v->card != card)
			continue;
		snprintf(why, PLAN_WHY_SIZE, "%s%s%s", v->reason, *v->fix ? "; " : "", v->fix);
		return true;
	}
	/* A start with a VF uses exactly this VF, so there is no choice. */
	if (world->mode == PLAN_PREPARE && world->request->vgpus[req].kind == REQUEST_PCI)
		return false;
	if (!plan_other_kind(world, card, &world->request->vgpus[req], why) && step)
		snprintf(why, PLAN_WHY_SIZE, "also suitable; ranked lower");
	return *why;
}

static void print_removal(FILE *to, const struct world *world, const char *id)
{
	const struct inv_device *device = inventory_device(&world->inv, id);
	const struct lease *lease = lease_find(&world->leases, id);
	const struct vgpu_ref *vgpu = device ? &device->vgpu : lease ? &lease->vgpu : NULL;
	char what[2 * REASON_SIZE] = "";

	if (vgpu)
		snprintf(what, sizeof(what), ", %s on %s", vgpu->type, vgpu->parent);
	if (!lease)
		text_line(to, "remove %s%s (orphan)", id, what);
	else
		text_line(to, "remove %s%s (domain %s %s)", id, what, lease->name,
			  lease->state == LEASE_RELEASING ? "has released it" : "no longer runs");
}

void plan_print(FILE *to, const struct plan *plan, const struct world *world, bool verdicts)
{
	for (size_t i = 0; i < plan->nremoves; i++)
		print_removal(to, world, plan->removes[i]);
	for (size_t i = 0; i < plan->nsteps; i++) {
		const struct step *step = &plan->steps[i];
		const char *id = world->asked->vgpus[i].id;
		const char *kept = step->kind == STEP_CREATE ? owner_why_kept(step->owner) : NULL;
		bool other = strcmp(id, step->vgpu.id) != 0;

		text_line(to, "%s %s, %s on %s (%s)%s%s%s%s", plan_word(step, world->mode), step->vgpu.id,
			  step->vgpu.type, step->vgpu.parent, step->why, kept ? ", kept at release: " : "",
			  kept ? kept : "", other ? ", instead of " : "", other ? id : "");
	}
	if (plan->kind == PLAN_WAIT)
		text_line(to, "wait: vGPU %s: %s", world->asked->vgpus[plan->refused_vgpu].id, plan->text);
	for (size_t i = 0; verdicts && i < world->request->nvgpus; i++) {
		for (size_t g = 0; g < world->inv.npgpus; g++) {
			char why[PLAN_WHY_SIZE];

			if (!plan_not_chosen(plan, world, i, world->inv.pgpus[g], why))
				continue;
			if (world->request->nvgpus == 1)
				text_line(to, "not on %s: %s", world->inv.pgpus[g]->address, why);
			else
				text_line(to, "not on %s for %s: %s", world->inv.pgpus[g]->address,
					  world->asked->vgpus[i].id, why);
		}
	}
}
