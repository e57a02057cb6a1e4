/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Plans a start with each enabled type, for a made-up domain. A real domain can still be refused because of its NUMA
 * node, project or UUID; 'vgpu-lease plan' shows why.
 */
#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "look/inventory.h"
#include "internal.h"
#include "state/history.h"

struct start {
	const struct section *section;
	struct config config;
	struct vgpu_request vgpu;
	struct request request;
};

/* Copies the configuration and lifts its quotas. If all quotas are 0, quota_none stays 0, so that plans are refused. */
static void start_begin(struct start *s, struct check *check)
{
	*s = (struct start){ .config = *check->config,
			     .vgpu = { .has_metadata = true },
			     .request = { .name = "vgpu-lease-check", .vgpus = &s->vgpu, .nvgpus = 1 } };
	s->config.policy.reuse_free |= s->config.policy.nova;
	s->config.nquotas = 0;
	s->config.quota_default = NO_LIMIT;
	if (check_serves_projects(check->config) || check->config->quota_none != 0)
		s->config.quota_none = NO_LIMIT;
	uuid_random(s->request.uuid);
}

/* MIG-backed vGPUs and other vGPUs do not share capacity. */
static bool share_capacity(const struct inventory *inv, const struct inv_pgpu *card, const char *type,
			   const char *other)
{
	const struct inv_type *a = inventory_type(inv, card, type), *b = inventory_type(inv, card, other);

	return !a || !b || !a->slices == !b->slices;
}

/* Do vGPUs of the pGPU's configured types occupy it? Sets `any` if it has vGPUs or leases, `leased` if leases. */
static bool is_busy(const struct check *check, const struct inv_pgpu *card, const char *asked, bool *any, bool *leased)
{
	const struct inventory *inv = check->inv;
	bool busy = false;

	for (const struct inv_device *d = NULL; (d = inventory_next_on(inv, card, d)); *any = true)
		busy |= pool_gives(d->parent, d->vgpu.type) && share_capacity(inv, card, d->vgpu.type, asked);
	for (EACH(const struct lease *, lease, check->world->leases.list, check->world->leases.n)) {
		if (strcmp(lease->vgpu.pgpu, card->address) != 0)
			continue;
		*any = *leased = true;
		busy |= !inventory_device(inv, lease->vgpu.id) && pool_serves(card, lease->vgpu.type) &&
			share_capacity(inv, card, lease->vgpu.type, asked);
	}
	return busy;
}

/* Only warns if vGPUs of configured types occupy a pGPU of the type, as on a busy host. Fails in all other cases. */
static void report_refusal(struct check *check, const struct start *s)
{
	const struct plan *plan = &check->plan;
	const char *fix = "'vgpu-lease inventory' shows the problems of each pGPU", *own = "";
	enum check_status status = CHECK_FAIL;
	bool leased = false;

	for (size_t g = 0; plan->refused == REFUSED_CAPACITY && g < check->inv->npgpus; g++) {
		const struct inv_pgpu *card = check->inv->pgpus[g];
		bool any = false;

		if (!card->pool.in_pool || !pool_serves(card, s->section->type))
			continue;
		if (is_busy(check, card, s->section->type, &any, &leased))
			status = CHECK_WARN;
		else if (any)
			fix = check_fix(check, "'vgpu-lease retype --dry-run %s %s' says which vGPUs can be removed",
					card->address, s->section->type);
	}
	for (size_t i = 0; i < plan->nverdicts && !*own; i++)
		own = plan->verdicts[i].fix;
	if (s->config.quota_none == 0)
		own = "raise a limit in [quota]";
	if (!*own && status == CHECK_WARN)
		own = leased ? "shut down a guest that uses one; 'vgpu-lease inventory' shows what is in use"
			     : "no guest leases them; 'vgpu-lease gc --dry-run' shows why each is kept";
	check_report(check, status, *own ? own : fix, "a start with %s would be refused: %.*s", s->section->type,
		     plan->why ? (int)plan->why : (int)sizeof(plan->text) - 1, plan->text);
}

/* PLAN_PREPARE plans a start with a new mdev. PLAN_ASSIGN plans a start with a VF or an unused mdev. */
static int plan_start(struct check *check, struct start *s, enum plan_mode mode, struct err *err)
{
	s->vgpu.any = mode == PLAN_ASSIGN;
	uuid_random(s->vgpu.id);
	return check_plan(check, &s->config, &s->request, mode, err);
}

static void look_at_start(struct check *check, struct start *s, const struct section *section, bool vf)
{
	const struct plan *plan = &check->plan;
	const char *type = section->type, *on;
	struct err err;
	int r = -EAGAIN;

	s->section = section;
	s->vgpu.kind = vf ? REQUEST_PCI : REQUEST_MDEV;
	s->vgpu.managed_as_needed = vf;
	text_copy(s->vgpu.facts.type, sizeof(s->vgpu.facts.type), type);
	/* Nova prefers an unused vGPU to a new one. */
	if (s->config.policy.nova)
		r = plan_start(check, s, PLAN_ASSIGN, &err);
	if (r < 0 || !plan->nsteps || plan->steps[0].kind != STEP_ADOPT)
		r = plan_start(check, s, vf ? PLAN_ASSIGN : PLAN_PREPARE, &err);
	on = r == 0 && plan->nsteps ? plan->steps[0].vgpu.parent : "";
	check_at_location(check, section->at);
	/* If the state cannot be written, no start gets a new vGPU. check_state() reports that. */
	if (*on && plan->steps[0].kind == STEP_CREATE && plan->steps[0].vgpu.framework != FW_VF &&
	    !check_can_lease(check))
		return;
	if (r < 0 && err_denied(err.code))
		check_warn(check, "run as root", "cannot tell whether a start with %s would succeed: %s", type,
			   err.text);
	else if (r < 0)
		check_fail(check, "fix the cause (troubleshooting: the-host)", "a start with %s would be refused: %s",
			   type, err.text);
	else if (plan->kind == PLAN_STEPS)
		check_pass(check, "a start with %s would get one on %s", type, on);
	else if (plan->kind == PLAN_REMOVE)
		check_pass(check, "a start with %s would get one on %s, after %zu unused vGPU%s removed", type, on,
			   plan->nremoves, plan->nremoves == 1 ? " is" : "s are");
	else if (plan->kind == PLAN_WAIT)
		check_warn(check, "try again in a moment",
			   "a start with %s would wait for a creation or removal in progress: %.*s", type,
			   plan->why ? (int)plan->why : (int)sizeof(plan->text) - 1, plan->text);
	else
		report_refusal(check, s);
}

/* Returns the fix for a device_match that selects no pGPU. The fix names a pGPU that only its NUMA node excludes. */
static const char *fix_elsewhere(struct check *check, const struct section *section)
{
	char why[REASON_SIZE];

	for (size_t g = 0; g < check->inv->npgpus; g++)
		if (pool_is_elsewhere(section, check->inv->pgpus[g], why))
			return check_fix(check, "%s: %s", check->inv->pgpus[g]->address, why);
	return "correct device_match; 'vgpu-lease inventory' lists the pGPUs";
}

/* Returns the fix if device_match has the PCI ID of VFs instead of the ID of their card, else NULL. */
static const char *fix_vfs(struct check *check, const struct section *section)
{
	for (EACH(const struct match *, match, section->matches, section->nmatches))
		for (size_t d = 0; *match->device && d < check->inv->npci; d++) {
			const struct inv_pgpu *card = check->inv->pci[d];
			char path[VGPU_PATH_SIZE], vf[8];
			struct err ignored;

			if (inventory_path(path, card->address, "/sriov_vf_device", &ignored) == 0 &&
			    sys_read(check->host->root, path, vf, sizeof(vf)) > 0 && strcmp(vf, match->device) == 0 &&
			    strcmp(card->vendor, match->vendor) == 0 && strcmp(card->device, match->device) != 0)
				return check_fix(check, "%s:%s is the VFs' ID; write %s:%s", match->vendor,
						 match->device, match->vendor, card->device);
		}
	return NULL;
}

/*
 * True if this host has no GPU of any vendor in device_match, and never had a vGPU of the type. A GPU of the vendor
 * suggests a misspelt device_match; an earlier vGPU suggests a lost card.
 */
static bool is_for_other_hosts(const struct check *check, const struct section *section)
{
	autofree char(*parents)[PARENT_SIZE] = NULL;

	if (affinity_parents(check->host, section->type, &parents) > 0)
		return false;
	for (EACH(const struct match *, match, section->matches, section->nmatches))
		for (size_t d = 0; d < check->inv->npci; d++)
			if (!*match->vendor ||
			    (check->inv->pci[d]->gpu && strcmp(check->inv->pci[d]->vendor, match->vendor) == 0))
				return false;
	return true;
}

/* Reports a type without a pGPU. Only warns if the type may be for other hosts with the same configuration. */
static void report_no_card(struct check *check, const struct section *section)
{
	enum check_status status = check->npool ? CHECK_WARN : CHECK_FAIL;
	const char *fix = "'vgpu-lease types' lists the available types";
	const char *before = "device_match of ", *after = " matches no pGPU of this host";
	char hint[REASON_SIZE];
	bool matches = false;

	for (size_t g = 0; g < check->inv->npgpus; g++)
		matches |= pool_matches(section, check->inv->pgpus[g]) != NULL;
	if (matches) {
		before = "no pGPU that device_match of ";
		after = " matches supports it";
	} else if (!section->nmatches) {
		before = "no pGPU of this host is configured for ";
		after = "";
		status = section->nova ? status : CHECK_FAIL;
		if (!section->vf && *inventory_name_hint(check->host, section->type, hint))
			fix = hint;
	} else if ((fix = fix_vfs(check, section)) != NULL) {
		status = CHECK_FAIL;
	} else if (is_for_other_hosts(check, section)) {
		status = CHECK_WARN;
		fix = "ignore this on a host without such a card";
	} else {
		fix = fix_elsewhere(check, section);
	}
	check_at_location(check, section->nmatches ? section->matches[0].at : section->at);
	check_report(check, status, fix, "%s%s%s, so a start with it would be refused", before, section->type, after);
}

void check_starts(struct check *check)
{
	const struct config *config = check->config;
	const struct section *rest = NULL;
	struct start start;

	check_begin(check, "type");
	start_begin(&start, check);
	for (size_t i = 0; i < config->nsections; i++) {
		const struct section *section = &config->sections[i];
		enum stock mdevs = pool_stock(check->inv, section, true, NULL);
		enum stock vfs = pool_stock(check->inv, section, false, NULL), best = mdevs > vfs ? mdevs : vfs;

		/* The first section that takes the rest gets all of it. A configuration warning names the others. */
		if (rest && config_takes_rest(section))
			continue;
		if (config_takes_rest(section) && !config->policy.several_types)
			rest = section;
		/* check_cards() has reported why the type has no ready pGPU. */
		if (check->explained[i] && best != STOCK_READY)
			continue;
		if (best == STOCK_NONE && (section->nova || !section->naddresses)) {
			report_no_card(check, section);
			continue;
		}
		/* Plan a start with an mdev, a VF or both, whichever the readiest pGPUs provide. */
		if (best == STOCK_NONE ? !section->vf : mdevs == best)
			look_at_start(check, &start, section, false);
		if (best == STOCK_NONE ? section->vf : vfs == best)
			look_at_start(check, &start, section, true);
	}
	for (size_t i = 0; config->nsections && i < config->warnings.n; i++)
		if (config->warnings.list[i].code == ENODEV)
			check_note(check, CHECK_WARN, &config->warnings.list[i],
				   config->sections[0].nova ? "name their pGPUs in device_addresses"
							    : "name their pGPUs in device_addresses or device_match");
	if (!config->nsections)
		check_fail(check_at(check, "%s", config->nfiles ? config->files[0] : ""),
			   "set enabled_mdev_types in [devices]; 'vgpu-lease types' lists the available types",
			   "no type is enabled, so no vGPU can be leased");
}
