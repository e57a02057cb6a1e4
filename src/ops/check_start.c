/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A start of each enabled type, with a made-up request, planned by the code that would act. A domain can request more
 * (a NUMA node, a project, the UUID of a device that exists) and still be refused; 'vgpu-lease plan' shows that.
 */
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/text.h"
#include "host/inventory.h"
#include "internal.h"
#include "ops/preview.h"

enum { VF_TRIES = 4 };
enum { AS_MDEV = 1, AS_VF = 2 };

/* The start of a domain with one vGPU; where several were planned, the last. */
struct start {
	const struct section *section;
	struct config config;
	struct vgpu_request vgpu;
	struct request request;
	struct lifecycle lifecycle;
	struct preview preview;
	int planned; /* 0, or an error, which is a refusal, too */
	struct err err;
};

/*
 * The used-up quota of a project says nothing about the host, one of 0 for everybody does. Borrows the rest of the
 * configuration.
 */
static void start_begin(struct start *s, const struct check *check, const struct section *section)
{
	*s = (struct start){ .section = section,
			     .config = *check->config,
			     .vgpu = { .has_metadata = true },
			     .request = { .name = "vgpu-lease-check", .vgpus = &s->vgpu, .nvgpus = 1 },
			     .lifecycle = { .host = check->host, .config = &s->config, .request = &s->request } };
	s->lifecycle.policy = &s->config.policy;
	s->config.nquotas = 0;
	s->config.quota_default = NO_LIMIT;
	if (check_serves_projects(check->config) || check->config->quota_none != 0)
		s->config.quota_none = NO_LIMIT;
	uuid_random(s->request.uuid);
	text_copy(s->vgpu.facts.type, sizeof(s->vgpu.facts.type), section->type);
}

/* With an mdev of its own, or with this VF. */
static void plan_start(struct start *s, const struct inv_parent *vf, bool managed)
{
	s->vgpu.kind = vf ? REQUEST_PCI : REQUEST_MDEV;
	s->vgpu.managed = managed;
	if (vf)
		text_copy(s->vgpu.id, sizeof(s->vgpu.id), vf->name);
	else
		uuid_random(s->vgpu.id);
	preview_end(&s->preview);
	s->planned = preview_make(&s->preview, &s->lifecycle, PLAN_PREPARE, &s->err);
}

/* No other VF would change the answer. */
static bool is_decided(const struct start *s)
{
	return s->planned < 0 || preview_is_possible(&s->preview.plan);
}

/* On the VFs of a card that are free, until one would do. How many there were. */
static int plan_on_card(struct start *s, const struct check *check, size_t pgpu)
{
	const struct inventory *inv = check->pool->inv;
	const struct inv_pgpu *card = &inv->pgpus[pgpu];
	int tried = 0;

	for (int p = card->first; p < card->first + card->nparents && tried < VF_TRIES; p++) {
		const struct inv_parent *vf = &inv->parents[p];

		if (vf->ndevices || !pool_has_parent(check->pool, p) || lease_find(&check->leases, vf->name))
			continue;
		tried++;
		plan_start(s, vf, card->framework == FW_VF);
		if (is_decided(s))
			break;
	}
	return tried;
}

/* On each card that serves the type as VFs, until one would do. */
static void plan_on_vfs(struct start *s, const struct check *check)
{
	const struct pool *pool = check->pool;
	struct plan *plan = &s->preview.plan;
	int tried = 0;

	for (size_t g = 0; g < pool->inv->npgpus && !(tried && is_decided(s)); g++)
		if (pool->inv->pgpus[g].framework != FW_MDEV && pool->cards[g].in_pool &&
		    pool_serves(pool, (int)g, s->section->type))
			tried += plan_on_card(s, check, g);
	if (tried)
		return;
	plan->kind = PLAN_REFUSE;
	plan->no_capacity = true;
	snprintf(plan->text, sizeof(plan->text), "every VF of the pool is in use or leased");
}

static struct check *at_type(struct check *check, const struct section *section)
{
	const struct place at = config_section_place(section);

	return check_at_place(check, &at);
}

/* What a pGPU carries that keeps a type from it: its own like, or what the configuration does not give to it. */
struct load {
	bool own, foreign;
};

/*
 * Only what is of the same kind: a GPU instance cannot carry what is not MIG-backed, nor the other way round.
 */
static struct load load_of(const struct check *check, const struct section *section, int pgpu)
{
	const struct pool *pool = check->pool;
	const struct inventory *inv = pool->inv;
	const struct inv_type *asked = inventory_type(inv, section->type);
	struct load load = { 0 };

	for (size_t i = 0; i < inv->ndevices; i++) {
		const struct inv_device *d = &inv->devices[i];
		const struct inv_type *type = inventory_type(inv, d->vgpu.type);

		if (d->parent == UNKNOWN || inv->parents[d->parent].pgpu != pgpu)
			continue;
		if (pool_serves(pool, pgpu, d->vgpu.type) && (!asked || !type || !asked->slices == !type->slices))
			load.own = true;
		else
			load.foreign = true;
	}
	for (size_t i = 0; i < check->leases.n; i++) {
		const struct vgpu_ref *vgpu = &check->leases.list[i].vgpu;

		if (strcmp(vgpu->pgpu, inv->pgpus[pgpu].address) != 0 || inventory_device(inv, vgpu->id))
			continue;
		if (pool_serves(pool, pgpu, vgpu->type))
			load.own = true;
		else
			load.foreign = true;
	}
	return load;
}

/*
 * A pGPU that is full of the type it is configured for is normal on a busy host. One that carries something else, or
 * nothing, is broken, or not as configured.
 */
static void report_refusal(struct check *check, const struct start *s)
{
	const struct plan *plan = &s->preview.plan;
	char fix[REASON_SIZE] = "'vgpu-lease inventory' shows the problems of each pGPU";
	enum check_status status = CHECK_FAIL;
	const char *own = "";

	for (int g = 0; plan->no_capacity && g < (int)check->pool->inv->npgpus; g++) {
		struct load load;

		if (!check->pool->cards[g].in_pool || !pool_serves(check->pool, g, s->section->type))
			continue;
		load = load_of(check, s->section, g);
		if (load.own)
			status = CHECK_WARN;
		else if (load.foreign)
			snprintf(fix, sizeof(fix), "'vgpu-lease retype --dry-run %s %s' lists the vGPUs to remove",
				 check->pool->inv->pgpus[g].address, s->section->type);
	}
	for (size_t i = 0; i < plan->nverdicts && !*own; i++)
		own = plan->verdicts[i].fix;
	if (s->config.quota_none == 0)
		own = "raise a limit in [quota]";
	if (!*own && status == CHECK_WARN)
		own = "shut down a guest that uses one; 'vgpu-lease inventory' shows what is in use";
	check_report(at_type(check, s->section), status, *own ? own : fix, "a start with %s would be refused: %.*s",
		     s->section->type, plan->why ? (int)plan->why : (int)sizeof(plan->text) - 1, plan->text);
}

static void report_start(struct check *check, const struct start *s)
{
	const struct plan *plan = &s->preview.plan;
	const char *type = s->section->type, *on = plan->nsteps ? plan->steps[0].vgpu.parent : "";

	at_type(check, s->section);
	if (s->planned < 0 && check_denied(s->err.code))
		check_report(check, CHECK_WARN, "run as root", "a start with %s: result not known: %s", type,
			     s->err.text);
	else if (s->planned < 0)
		check_report(check, CHECK_FAIL, "fix the cause", "a start with %s would be refused: %s", type,
			     s->err.text);
	else if (plan->kind == PLAN_STEPS)
		check_report(check, CHECK_PASS, NULL, "a start with %s would get one on %s", type, on);
	else if (plan->kind == PLAN_REMOVE)
		check_report(check, CHECK_PASS, NULL,
			     "a start with %s would get one on %s, after %zu unused vGPU%s removed", type, on,
			     plan->nremoves, plan->nremoves == 1 ? " is" : "s are");
	else if (plan->kind == PLAN_WAIT)
		check_report(check, CHECK_WARN, "try again in a moment",
			     "a start with %s would wait for a creation or removal that is under way: %.*s", type,
			     plan->why ? (int)plan->why : (int)sizeof(plan->text) - 1, plan->text);
	else
		report_refusal(check, s);
}

static void look_at_start(struct check *check, const struct section *section, int kind)
{
	struct start start;

	start_begin(&start, check, section);
	if (kind == AS_VF)
		plan_on_vfs(&start, check);
	else
		plan_start(&start, NULL, false);
	report_start(check, &start);
	preview_end(&start.preview);
}

/* How pGPUs serve the type, ready or not. */
static int kinds_of(const struct pool *pool, const struct section *section)
{
	int kinds = 0;

	for (int g = 0; g < (int)pool->inv->npgpus; g++)
		if (pool_serves(pool, g, section->type))
			kinds |= pool->inv->pgpus[g].framework == FW_MDEV ? AS_MDEV : AS_VF;
	return kinds;
}

/*
 * No pGPU is configured for the type. One file can serve many hosts: a match for the cards of others is no mistake, as
 * long as something can be leased here. `first` gets all pGPUs that no section names, as in Nova.
 */
static void report_no_card(struct check *check, const struct section *section, const struct section *first)
{
	char hint[REASON_SIZE] = "";

	at_type(check, section);
	if (section->nmatches) {
		check_report(check_at_place(check, &section->matches[0].at), check->npool ? CHECK_WARN : CHECK_FAIL,
			     "correct device_match; 'vgpu-lease inventory' lists the pGPUs",
			     "device_match of %s matches no pGPU of this host: a start with it would be refused",
			     section->type);
	} else if (first && first != section && config_takes_rest(section)) {
		check_report(check, CHECK_WARN, "name its pGPUs in device_addresses or device_match",
			     "no pGPU is left for %s: %s, enabled before it, gets all that no section names",
			     section->type, first->type);
	} else { /* one nova.conf can serve many hosts, and Nova takes no notice of what a host has not */
		if (!section->vf)
			inventory_name_hint(check->host, section->type, hint);
		check_report(check, section->nova ? CHECK_WARN : CHECK_FAIL,
			     *hint ? hint : "'vgpu-lease types' lists the available types",
			     "no pGPU of this host serves %s: a start with it would be refused", section->type);
	}
}

void check_starts(struct check *check)
{
	const struct config *config = check->config;
	const struct section *first = NULL;

	for (size_t i = 0; i < config->nsections; i++) {
		const struct section *section = &config->sections[i];
		int kinds = kinds_of(check->pool, section);

		if (!first && config_takes_rest(section) && !config->policy.several_types)
			first = section;
		if (!kinds && (section->nova || !section->naddresses)) {
			report_no_card(check, section, first);
			continue;
		}
		if (!kinds)
			kinds = section->vf ? AS_VF : AS_MDEV;
		/* One card can make the type as mdevs, another as VFs: a domain requests either. */
		for (int kind = AS_MDEV; kind <= AS_VF; kind <<= 1)
			if (kinds & kind)
				look_at_start(check, section, kind);
	}
	if (!config->nsections)
		check_report(check_at(check, "%s", config->nfiles ? config->files[0] : ""), CHECK_FAIL,
			     "set enabled_mdev_types in [devices]; 'vgpu-lease types' lists the available types",
			     "no type is enabled: no vGPU can be leased");
}
