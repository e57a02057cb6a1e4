/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The operations that lease: prepare, migrate, restore. */
#include "act/lifecycle.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "sys/log.h"
#include "sys/timed_child.h"
#include "look/resolve.h"
#include "act/release.h"
#include "model/event.h"
#include "act/preview.h"
#include "internal.h"
#include "state/history.h"
#include "act/fate_facts.h"

/* The rounds of one run: survey, plan and apply, until a plan is carried out or refused. */
struct rounds {
	const struct lifecycle *lifecycle;
	struct store store;
	struct world world;
	struct plan plan;
	struct apply apply;
	bool waits; /* the last logged plan was a PLAN_WAIT */
};

struct world lifecycle_world(const struct lifecycle *lifecycle, struct store *store, enum plan_mode mode)
{
	return (struct world){ .host = lifecycle->host,
			       .store = store,
			       .config = lifecycle->config,
			       .asked = lifecycle->request,
			       .request = lifecycle->request,
			       .mode = mode };
}

static int rounds_start(struct rounds *r, const struct lifecycle *lifecycle, enum plan_mode mode, const char *op,
			struct err *err)
{
	*r = (struct rounds){ .lifecycle = lifecycle };
	apply_start(&r->apply, &r->store, &lifecycle->config->policy, lifecycle->request, op);
	r->apply.work = lifecycle->work;
	if (store_open(&r->store, lifecycle->host, true, err) < 0)
		return -err->code;
	r->world = lifecycle_world(lifecycle, &r->store, mode);
	return resolve_request(&r->world, err);
}

static void rounds_end(struct rounds *r)
{
	plan_free(&r->plan);
	survey_end(&r->world);
	apply_end(&r->apply);
	store_close(&r->store);
}

/* 0: planned, and the store's lock is held */
static int plan_round(struct rounds *r, struct err *err)
{
	struct world *world = &r->world;
	int n = 1;

	while (n == 1) {
		if (survey_ahead(world, r->apply.wait_by_ms, err) < 0 || apply_lock(&r->apply, err) < 0)
			return -err->code;
		n = survey_read(world, err);
		if (n == 0)
			n = lifecycle_refuse_running(world, err);
		if (n != 0)
			store_unlock(&r->store);
	}
	if (n < 0)
		return n;
	if (world->wide)
		fate_mark(world);
	plan_free(&r->plan);
	plan_make(&r->plan, world);
	return 0;
}

int refusal_of_plan(const struct world *world, const struct plan *plan, struct err *err)
{
	static const int codes[] = { EPERM, ENOSPC, EDQUOT, EPERM, EPERM }; /* by enum refused */

	err_set(err, codes[plan->refused], "vGPU %s: %s", world->asked->vgpus[plan->refused_vgpu].id, plan->text);
	return plan->refused == REFUSED_CONFIG ? err_about(err, ERR_CONFIG) : -err->code;
}

/* Logs the plan in the words of `vgpu-lease plan`. Logs only the first of several PLAN_WAIT in a row. */
static void log_plan(struct rounds *r)
{
	const struct request *request = r->lifecycle->request;
	bool waits = r->plan.kind == PLAN_WAIT;
	autofree char *text = NULL;
	char *line, *rest;
	size_t len;
	FILE *to;

	if ((waits && r->waits) || !log_keeps_debug())
		return;
	r->waits = waits;
	to = mem_open(&text, &len);
	plan_print(to, &r->plan, &r->world, !waits);
	mem_close(to);
	for (rest = text; (line = strsep(&rest, "\n")) && *line;)
		event_log(EVENT_DECIDED, event_for(request, NULL), "%s: domain %s: %s", r->apply.op, request->name,
			  line);
}

static struct failed_attempt *add_attempt(struct world *world, const struct vgpu_ref *vgpu, enum cause cause)
{
	struct failed_attempt *attempt = mem_add(&world->failed_attempts, &world->nfailed_attempts, sizeof(*attempt));

	attempt->cause = cause;
	memcpy(attempt->pgpu, vgpu->pgpu, sizeof(attempt->pgpu));
	memcpy(attempt->type, vgpu->type, sizeof(attempt->type));
	return attempt;
}

/* Makes the next plan try another card. Negative: the domain is refused with this error. */
static int attempt_failed(struct world *world, const struct step *step, int n, struct err *err)
{
	bool full = n == -ENOSPC;
	struct failed_attempt *attempt;

	/* An existing vGPU cannot move to another card. */
	if (n == -ETIMEDOUT || n == -ECANCELED || n == -ESTALE || step->kind != STEP_CREATE)
		return err_in(err, "vGPU %s", step->vgpu.id);
	attempt = add_attempt(world, &step->vgpu, full ? CAUSE_IN_USE : CAUSE_FAILED);
	attempt->busy = n == -EINPROGRESS;
	/* A VF holds one mdev, so a full VF does not mean that the card is full. */
	if (full && step->vgpu.framework == FW_MDEV && strcmp(step->vgpu.parent, step->vgpu.pgpu) != 0)
		memcpy(attempt->parent, step->vgpu.parent, sizeof(attempt->parent));
	snprintf(attempt->reason, sizeof(attempt->reason), "%s", err->text + err->cause);
	return 0;
}

/* Records a failed removal. Later plans do not try it again, and skip its pGPU for the steps there without capacity. */
static void removal_failed(struct world *world, const struct plan *plan, const char *id, const struct err *err)
{
	const struct inv_device *device = inventory_device(&world->inv, id);
	const struct lease *lease = lease_find(&world->leases, id);
	const char *pgpu = device ? device->vgpu.pgpu : lease ? lease->vgpu.pgpu : "";

	for (size_t i = 0; i <= plan->nsteps; i++) {
		const struct vgpu_ref *vgpu = i < plan->nsteps ? &plan->steps[i].vgpu : &(struct vgpu_ref){ 0 };
		struct failed_attempt *attempt;

		if (i < plan->nsteps && strcmp(vgpu->pgpu, pgpu) != 0)
			continue;
		attempt = add_attempt(world, vgpu, CAUSE_FAILED);
		text_copy(attempt->removal, sizeof(attempt->removal), id);
		snprintf(attempt->reason, sizeof(attempt->reason), "an orphan cannot be removed: %.200s",
			 err->text + err->cause);
	}
}

static int remove_one(struct rounds *r, const char *id, struct err *err)
{
	const struct policy *policy = &r->lifecycle->config->policy;
	const struct inv_device *device = inventory_device(&r->world.inv, id);
	const struct lease *lease = lease_find(&r->world.leases, id);
	int n;

	if (sys_now_ms() >= r->apply.wait_by_ms)
		return err_set(err, ETIMEDOUT,
			       "no time is left within lock_timeout to remove %s (troubleshooting: no-time-is-left)",
			       id);
	if (lease) {
		n = release_now(&r->store, policy, lease, r->apply.wait_by_ms, err);
		if (n == 0)
			event_log(EVENT_RECLAIMED, event_of(lease),
				  "%s: domain %s: released %s of domain %s to free capacity", r->apply.op,
				  r->lifecycle->request->name, id, lease->name);
		return n;
	}
	if (!device)
		return 0;
	n = release_orphan(&r->store, policy, &device->vgpu, RELEASE_DEVICE, r->apply.wait_by_ms, err);
	if (n == 0)
		event_log(EVENT_RECLAIMED, (struct event_about){ .vgpu = &device->vgpu },
			  "%s: domain %s: removed orphan %s (%s on %s) to free capacity", r->apply.op,
			  r->lifecycle->request->name, id, device->vgpu.type, device->vgpu.parent);
	return n;
}

static bool pause_round(struct rounds *r)
{
	if (!apply_has_time(&r->apply))
		return false;
	sys_sleep_ms(sys_pause_ms(r->apply.begun_ms));
	return true;
}

/* Has a card of the pool been silent for less than lock_timeout? Its driver may still answer, or has by now. */
static bool may_answer(const struct rounds *r)
{
	int64_t time_ms = (int64_t)r->lifecycle->config->policy.lock_timeout_s * 1000;
	size_t n;
	const struct timed_child_silent *silents = timed_child_silents(&n);

	if (sys_now_ms() >= r->apply.wait_by_ms)
		return false;
	for (size_t c = 0; c < r->world.inv.npgpus; c++) {
		const struct inv_pgpu *card = r->world.inv.pgpus[c];
		const struct timed_child_silent *silent = text_find(silents, n, sizeof(*silents), card->address);

		if (card->silent && card->pool.section && (!silent || sys_now_ms() - silent->since_ms < time_ms))
			return true;
	}
	return false;
}

static bool forget_busy(struct world *world)
{
	size_t n = 0;

	for (size_t i = 0; i < world->nfailed_attempts; i++)
		if (!world->failed_attempts[i].busy)
			world->failed_attempts[n++] = world->failed_attempts[i];
	if (n == world->nfailed_attempts)
		return false;
	world->nfailed_attempts = n;
	return true;
}

/* 0: plan again; negative: refused. Refuses only after a wide survey, which has the facts for the text. */
static int between_rounds(struct rounds *r, struct err *err)
{
	bool wide = r->world.wide;

	r->world.wide = false;
	if (forget_busy(&r->world)) {
		r->apply.patient = true;
		return 0;
	}
	if (r->plan.kind != PLAN_REFUSE)
		log_plan(r);
	if (r->plan.kind == PLAN_REMOVE) {
		/* A dropped lease can leave a foreign device, which the next survey judges. */
		for (size_t i = 0; i < r->plan.nremoves; i++)
			if (remove_one(r, r->plan.removes[i], err) < 0)
				removal_failed(&r->world, &r->plan, r->plan.removes[i], err);
		return 0;
	}
	if ((r->plan.kind == PLAN_WAIT || (wide && may_answer(r))) && pause_round(r))
		return 0;
	r->world.wide = true;
	return wide ? refusal_of_plan(&r->world, &r->plan, err) : 0;
}

/* Records for later runs that a card failed. Full cards, changes of the host and killed writes do not count. */
static void note_failure(struct rounds *r, const struct step *step, const struct err *why)
{
	static const int no_failure[] = { EAGAIN, ECANCELED, ESTALE, EEXIST, EINTR, ENOSPC, EUSERS, EINPROGRESS };
	struct err ignored;

	for (size_t i = 0; i < ARRAY_SIZE(no_failure); i++)
		if (why->code == no_failure[i])
			return;
	if (step->kind != STEP_CREATE || store_lock(&r->store, sys_left_ms(r->apply.wait_by_ms), &ignored) < 0)
		return;
	failure_note(&r->store, step->vgpu.pgpu, step->vgpu.type);
	store_unlock(&r->store);
	event_log(EVENT_FAILED, event_for(r->lifecycle->request, &step->vgpu),
		  "%s: domain %s: %s cannot create %s, and is tried last for a while: %s", r->apply.op,
		  r->lifecycle->request->name, step->vgpu.pgpu, step->vgpu.type, why->text + why->cause);
}

/* Carries out the steps. 1: all are done; 0: plan again, finished steps stay done; negative: refused. */
static int apply_round(struct rounds *r, struct err *err)
{
	for (size_t i = 0; i < r->plan.nsteps; i++) {
		const struct step *step = &r->plan.steps[i];
		const struct vgpu_request *req = &r->lifecycle->request->vgpus[i];
		const char *configured = step->section ? step->section->params : "";
		int n = apply_step(&r->apply, r->plan.steps, r->plan.nsteps, i,
				   req->has_params ? req->params : configured, err);

		if (n == 0) {
			if (r->world.nfailures && step->kind == STEP_CREATE)
				failure_forget(&r->store, step->vgpu.pgpu);
			continue;
		}
		note_failure(r, step, err);
		if (n == -EAGAIN && pause_round(r))
			return 0;
		return attempt_failed(&r->world, step, n, err);
	}
	return 1;
}

static int rounds_run(struct rounds *r, struct err *err)
{
	const struct plan *plan = &r->plan;
	bool arrives = r->world.mode != PLAN_PREPARE;

	for (;;) {
		int n = plan_round(r, err);

		if (n < 0)
			return arrives ? n : unleased_start(&r->apply, r->lifecycle, NULL, NULL, n, err);
		if (plan->kind != PLAN_STEPS) {
			store_unlock(&r->store);
			if (between_rounds(r, err) < 0)
				return -err->code;
			continue;
		}
		n = (arrives ? apply_reserve : apply_lease)(&r->apply, plan->steps, plan->nsteps, err);
		store_unlock(&r->store);
		if (n == -EAGAIN) {
			/* Another process holds a work lock. apply_reserve() may have reserved some vGPUs. */
			if (arrives)
				apply_undo(&r->apply);
			if (!pause_round(r))
				return err_recode(err, EBUSY);
			continue;
		}
		if (n == 0)
			log_plan(r);
		if (arrives)
			return n;
		if (n < 0)
			return unleased_start(&r->apply, r->lifecycle, plan, &r->world.leases, n, err);
		n = apply_round(r, err);
		if (n != 0)
			return n < 0 ? n : 0;
	}
}

int lifecycle_prepare(const struct lifecycle *lifecycle, struct err *err)
{
	struct rounds r;
	int n = lifecycle_before_plan(lifecycle, PLAN_PREPARE, err);

	if (n <= 0)
		return n;
	n = rounds_start(&r, lifecycle, PLAN_PREPARE, lifecycle->op ? lifecycle->op : "prepare", err);
	n = n == 0 ? rounds_run(&r, err) : unleased_start(&r.apply, lifecycle, NULL, NULL, n, err);
	if (n < 0)
		apply_undo(&r.apply);
	else if (!config_is_valid(lifecycle->config))
		log_warn("%s: domain %s: its vGPUs are used as they are, without a valid configuration: %s%s",
			 r.apply.op, lifecycle->request->name, lifecycle->config->why.text,
			 config_fix(lifecycle->config));
	rounds_end(&r);
	return n;
}

static void log_reserved(const struct rounds *r)
{
	const struct request *request = r->lifecycle->request;

	for (size_t i = 0; i < r->plan.nsteps; i++) {
		const struct vgpu_ref *vgpu = &r->plan.steps[i].vgpu;

		event_log(EVENT_RESERVED, event_for(request, vgpu), "%s: domain %s: reserved %s for %s, %s on %s",
			  r->apply.op, request->name, vgpu->id, request->vgpus[i].id, vgpu->type, vgpu->parent);
	}
}

int lifecycle_arrive(const struct lifecycle *lifecycle, enum plan_mode mode,
		     int (*give)(void *arg, const char *xml, size_t len, struct err *err), void *arg, struct err *err)
{
	struct rewritten rewritten = { 0 };
	struct rounds r;
	int n = lifecycle_before_plan(lifecycle, mode, err);

	if (n <= 0)
		return n;
	n = rounds_start(&r, lifecycle, mode, mode == PLAN_MIGRATE ? "migrate" : "restore", err);
	if (n == 0)
		n = rounds_run(&r, err);
	if (n == 0)
		n = rewrite_plan(&rewritten, lifecycle->doc, &r.world, &r.plan, err);
	if (*r.plan.warning)
		log_warn("%s: domain %s: %s", r.apply.op, lifecycle->request->name, r.plan.warning);
	if (n == 0 && rewritten.changed)
		n = give(arg, rewritten.xml, rewritten.len, err);
	if (n < 0)
		apply_undo(&r.apply);
	else
		log_reserved(&r);
	free(rewritten.xml);
	rounds_end(&r);
	return n == -EEXIST && mode == PLAN_RESTORE ? 0 : n;
}
