/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A plan in words: what a step does, why a pGPU was not chosen, which error a refusal is. */
#include "ops/preview.h"

#include <errno.h>
#include <stdlib.h>

#include "base/auto.h"
#include "lib/small_host.h"

static struct inv_pgpu cards[] = {
	{ .address = "0000:84:00.0", .framework = FW_MDEV },
	{ .address = "0000:85:00.0", .framework = FW_MDEV },
	{ .address = "0000:41:00.0", .framework = FW_VARIANT },
};
static struct inv_pgpu *pgpus[] = { &cards[0], &cards[1], &cards[2] };
static struct inventory inv = { .pgpus = pgpus, .npgpus = ARRAY_SIZE(pgpus) };
static struct vgpu_request vgpu = { .kind = REQUEST_MDEV, .id = A };
static struct request request = { .uuid = VM, .name = "vm", .vgpus = &vgpu, .nvgpus = 1 };
static struct lifecycle lifecycle = { .request = &request };

static struct preview preview_of(enum plan_mode mode, enum plan_kind kind, struct step *step)
{
	return (struct preview){
		.lifecycle = &lifecycle,
		.world = { .mode = mode, .asked = &request, .request = &request, .inv = inv },
		.plan = { .kind = kind, .steps = step, .nsteps = step ? 1 : 0 },
	};
}

static struct step step_of(enum step_kind kind)
{
	return (struct step){
		.kind = kind,
		.vgpu = { .id = A, .type = "nvidia-222", .parent = "0000:84:00.0", .pgpu = "0000:84:00.0" },
		.why = "first",
	};
}

static void words(void)
{
	static const struct {
		enum plan_mode mode;
		enum step_kind kind;
		const char *word;
	} rows[] = {
		{ PLAN_PREPARE, STEP_KEEP, "keep" },     { PLAN_PREPARE, STEP_ADOPT, "adopt" },
		{ PLAN_PREPARE, STEP_CREATE, "create" }, { PLAN_MIGRATE, STEP_CREATE, "reserve" },
		{ PLAN_RESTORE, STEP_ADOPT, "reserve" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct step step = step_of(rows[i].kind);
		const struct preview p = preview_of(rows[i].mode, PLAN_STEPS, &step);

		is(preview_word(&p, &step), rows[i].word, rows[i].word);
	}
}

static void possible(void)
{
	static const enum plan_kind kinds[] = { PLAN_STEPS, PLAN_REMOVE, PLAN_WAIT, PLAN_LOOK, PLAN_REFUSE };

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		const struct plan plan = { .kind = kinds[i] };

		ok(preview_is_possible(&plan) == (i < 2), "only steps and removals are possible: %zu", i);
	}
}

static void refusals(void)
{
	struct preview p = preview_of(PLAN_PREPARE, PLAN_REFUSE, NULL);

	p.plan.no_capacity = true;
	ok(preview_rewrite(&p, &err) == -ENOSPC && strstr(err.text, A), "no capacity is ENOSPC, with the vGPU's id");
	p.plan.no_capacity = false;
	ok(preview_rewrite(&p, &err) == -EPERM && !p.rewritten.xml, "all else is EPERM, and there is no XML");
	p.plan.kind = PLAN_STEPS;
	ok(preview_rewrite(&p, &err) == 0 && !p.rewritten.xml, "a plan without steps leaves the XML as it is");
}

static void not_chosen(void)
{
	struct step step = step_of(STEP_CREATE);
	struct verdict verdict = { .card = &cards[1], .reason = "is full", .fix = "end a guest" };
	struct preview p = preview_of(PLAN_PREPARE, PLAN_STEPS, &step);
	char why[PREVIEW_WHY_SIZE];

	p.plan.verdicts = &verdict;
	p.plan.nverdicts = 1;
	ok(!preview_not_chosen(&p, 0, &cards[0], why), "the chosen pGPU needs no reason");
	ok(preview_not_chosen(&p, 0, &cards[1], why), "another has its verdict");
	is(why, "is full; end a guest", "with its fix");
	ok(preview_not_chosen(&p, 0, &cards[2], why) && strstr(why, "VF"), "one of the other kind is told so: %s", why);
	p.plan.nverdicts = 0;
	ok(preview_not_chosen(&p, 0, &cards[1], why) && *why, "one without a verdict was ranked lower: %s", why);
	p.plan.nsteps = 0;
	ok(!preview_not_chosen(&p, 0, &cards[1], why), "where the plan did not get that far nothing is told");
	p.plan.nsteps = 1;
	step.kind = STEP_KEEP;
	ok(!preview_not_chosen(&p, 0, &cards[1], why), "for a vGPU that exists nothing is chosen");
	step.kind = STEP_CREATE;
	vgpu.kind = REQUEST_PCI;
	ok(!preview_not_chosen(&p, 0, &cards[1], why), "nor at a start with a VF");
	vgpu.kind = REQUEST_MDEV;
}

#define GONE "c6f1a2b3-0000-4000-8000-00000000000e"
static void releases(void)
{
	static const struct {
		const char *id, *domain;
		enum lease_state state;
		enum lease_origin origin;
	} rows[] = {
		{ A, VM, LEASE_ACTIVE, LEASE_CREATED },
		{ B, VM, LEASE_ACTIVE, LEASE_ADOPTED },
		{ C, VM, LEASE_RESERVED, LEASE_CREATED },
		{ "c6f1a2b3-0000-4000-8000-00000000000d", A, LEASE_ACTIVE, LEASE_CREATED },
		{ GONE, VM, LEASE_ACTIVE, LEASE_CREATED },
	};
	autofree char *text = NULL, *one = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct lease lease = lease_of(rows[i].id, "t", "p", rows[i].state, rows[i].domain);

		lease.origin = rows[i].origin;
		put_lease(lease);
	}
	ok(preview_release(f, &store, VM, NULL, &err) == 0, "the leases are read");
	fclose(f);
	is(text,
	   "remove " A ", t on p\nkeep the device and drop the lease of " B ", t on p\ndrop the reservation of " C
	   ", t on p\ndrop the lease of " GONE ", t on p\n",
	   "of the domain's leases, each by its state and origin, and whether its device exists");
	f = open_memstream(&one, &len);
	ok(f && preview_release(f, &store, VM, B, &err) == 0, "of one alone");
	fclose(f);
	is(one, "keep the device and drop the lease of " B ", t on p\n", "that one alone");
}

HOST_TESTS("run/\nvar/lib/\nsys/bus/mdev/devices/" A "/\nsys/bus/mdev/devices/" B "/", words, possible, refusals,
	   not_chosen, releases)
