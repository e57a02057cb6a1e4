/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A start of each enabled type: that of a made-up domain, planned by the code that would act. Domains differ in what
 * else they say (a NUMA node, a project, the UUID of a device that exists), so what passes here can still be refused
 * to one of them; 'vgpu-lease plan' tells of that one.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ops/preview.h"
#include "ops/check.h"
#include "base/auto.h"
#include "host/inventory.h"
#include "state/lease_store.h"

enum { XML_SIZE = 2048, VF_TRIES = 4 };
enum { AS_MDEV = 1, AS_VF = 2 };

/* How a start ended: the last refusal is kept. */
struct start {
	enum plan_kind kind;
	enum refusal refusal;
	char on[PARENT_SIZE]; /* PLAN_STEPS, PLAN_REMOVE: the parent */
	size_t removes;
	char text[sizeof(((struct plan *)0)->text)]; /* the causes */
	char fix[REASON_SIZE];                       /* a command for one of the cards; "" none */
};

/* What a card carries that keeps a type from it: its own like, or what the configuration does not give to it. */
struct load {
	bool own, foreign;
};

/* A domain with one vGPU of this type: an mdev of its own, or this VF. The words come from types that were parsed. */
static void make_xml(char xml[XML_SIZE], const char *type, const struct inv_parent *vf, bool managed)
{
	char domain[UUID_SIZE], id[UUID_SIZE];
	char dom[9], bus[3], slot[3];

	uuid_random(domain);
	uuid_random(id);
	snprintf(
		xml, XML_SIZE,
		"<domain type='kvm'><name>vgpu-lease-check</name><uuid>%s</uuid><metadata><vgpu:lease xmlns:vgpu='" DOMXML_NS
		"'><vgpu:device %s='%s' type='%s'/></vgpu:lease></metadata><devices>",
		domain, vf ? "address" : "uuid", vf ? vf->name : id, type);
	if (!vf)
		snprintf(xml + strlen(xml), XML_SIZE - strlen(xml),
			 "<hostdev mode='subsystem' type='mdev' model='vfio-pci'><source><address uuid='%s'/></source>",
			 id);
	else if (sscanf(vf->name, "%8[^:]:%2[^:]:%2[^.].", dom, bus, slot) == 3)
		snprintf(xml + strlen(xml), XML_SIZE - strlen(xml),
			 "<hostdev mode='subsystem' type='pci' managed='%s'><source><address domain='0x%s' bus='0x%s' "
			 "slot='0x%s' function='0x%c'/></source>",
			 managed ? "yes" : "no", dom, bus, slot, vf->name[strlen(vf->name) - 1]);
	snprintf(xml + strlen(xml), XML_SIZE - strlen(xml), "</hostdev></devices></domain>");
}

/*
 * Without its quotas: whether a project has used up its own says nothing about the host. Borrows all else.
 */
static struct config without_quotas(const struct config *config)
{
	struct config free_for_all = *config;

	free_for_all.nquotas = 0;
	free_for_all.quota_default = free_for_all.quota_none = NO_LIMIT;
	return free_for_all;
}

/* Plans it. Negative: it cannot be planned, which is a refusal, too. */
static int plan_start(const struct check *check, const struct config *config, const char *xml, struct start *start,
		      struct err *err)
{
	struct config open = without_quotas(config);
	struct lifecycle lifecycle = { .host = check->host, .config = &open, .policy = &open.policy };
	struct preview preview = { 0 };
	const struct plan *plan = &preview.plan;
	struct domxml *doc = NULL;
	int r = domxml_parse(&doc, xml, strlen(xml), 0, err);

	if (r == 0) {
		lifecycle.doc = doc;
		lifecycle.request = domxml_request(doc);
		r = preview_make(&preview, &lifecycle, PLAN_PREPARE, err);
	}
	if (r == 0) {
		start->kind = plan->kind;
		start->refusal = plan->refusal;
		start->removes = plan->nremoves;
		snprintf(start->on, sizeof(start->on), "%s", plan->nsteps ? plan->steps[0].vgpu.parent : "");
		snprintf(start->text, sizeof(start->text), "%.*s",
			 plan->why ? (int)plan->why : (int)sizeof(start->text) - 1, plan->text);
		start->fix[0] = '\0';
		for (size_t i = 0; i < plan->nverdicts && !*start->fix; i++)
			memcpy(start->fix, plan->verdicts[i].fix, sizeof(start->fix));
	}
	preview_end(&preview);
	domxml_free(doc);
	return r;
}

static bool is_possible(const struct start *start)
{
	return start->kind == PLAN_STEPS || start->kind == PLAN_REMOVE;
}

/* Of the card's VFs, those that nobody has, until one would do. *tried: how many there were. */
static int start_on_vfs(const struct check *check, const struct pool *pool, const struct leases *leases, size_t pgpu,
			const char *type, struct start *start, int *tried, struct err *err)
{
	const struct inv_pgpu *card = &pool->inv->pgpus[pgpu];
	int r = 0;

	*tried = 0;
	for (int p = card->first; p < card->first + card->nparents && r == 0; p++) {
		const struct inv_parent *vf = &pool->inv->parents[p];
		char xml[XML_SIZE];

		if (vf->ndevices || !pool_has_parent(pool, p) || lease_find(leases, vf->name))
			continue;
		if (++*tried > VF_TRIES)
			break;
		make_xml(xml, type, vf, card->framework == FW_VF);
		r = plan_start(check, pool->config, xml, start, err);
		if (r == 0 && is_possible(start))
			break;
	}
	return r;
}

/*
 * Each card that serves the type as VFs, until one does. 1: none of them has a free VF, and so the text says.
 */
static int start_vf(const struct check *check, const struct pool *pool, const char *type, struct start *start,
		    struct err *err)
{
	struct store store;
	struct leases leases = { 0 };
	int r = store_open(&store, check->host, false, err), tried, any = 0;

	if (r == 0)
		r = lease_list(&store, &leases, err);
	for (size_t g = 0; r == 0 && g < pool->inv->npgpus && !(any && is_possible(start)); g++) {
		if (pool->inv->pgpus[g].framework == FW_MDEV || !pool->cards[g].in_pool ||
		    !pool_serves(pool, (int)g, type))
			continue;
		r = start_on_vfs(check, pool, &leases, g, type, start, &tried, err);
		any += tried;
	}
	lease_list_free(&leases);
	store_close(&store);
	if (r == 0 && !any) {
		start->kind = PLAN_REFUSE;
		start->refusal = REFUSE_NO_ROOM;
		snprintf(start->text, sizeof(start->text), "every VF of the pool is in use or leased");
	}
	return r;
}

/* Where a type stands in the files. */
static const char *type_place(char where[CHECK_WHERE], const struct section *section)
{
	const struct place own = { section->file, section->line };

	return check_place(where, section->line ? &own : &section->enabled_at);
}

/*
 * Only what is of the wanted kind: a GPU instance cannot carry what is not MIG-backed, nor the other way round.
 */
static struct load load_of(const struct pool *pool, const struct section *section, int pgpu,
			   const struct leases *leases)
{
	const struct inventory *inv = pool->inv;
	const struct inv_type *wanted = inventory_type(inv, section->type);
	struct load load = { 0 };

	for (size_t i = 0; i < inv->ndevices; i++) {
		const struct inv_device *d = &inv->devices[i];
		const struct inv_type *type = inventory_type(inv, d->vgpu.type);

		if (d->parent == UNKNOWN || inv->parents[d->parent].pgpu != pgpu)
			continue;
		if (pool_serves(pool, pgpu, d->vgpu.type) && (!wanted || !type || !wanted->slices == !type->slices))
			load.own = true;
		else
			load.foreign = true;
	}
	for (size_t i = 0; i < leases->n; i++)
		if (strcmp(leases->list[i].vgpu.pgpu, inv->pgpus[pgpu].address) == 0 &&
		    !inventory_device(inv, leases->list[i].vgpu.id)) {
			load.own |= pool_serves(pool, pgpu, leases->list[i].vgpu.type) != NULL;
			load.foreign |= pool_serves(pool, pgpu, leases->list[i].vgpu.type) == NULL;
		}
	return load;
}

/*
 * It would be refused. Full is a card of the pool that carries what it is meant to: every day's life of a busy host.
 * One that carries something else, or nothing, is broken, or not what the configuration says.
 */
static void refused(struct check *check, const struct pool *pool, const struct section *section,
		    const struct start *start)
{
	char where[CHECK_WHERE], fix[REASON_SIZE] = "'vgpu-lease inventory' shows what each pGPU lacks";
	enum check_status status = CHECK_FAIL;
	struct leases leases = { 0 };
	struct store store;
	struct err ignored;

	if (store_open(&store, check->host, false, &ignored) == 0)
		(void)!lease_list(&store, &leases, &ignored);
	for (int g = 0; start->refusal == REFUSE_NO_ROOM && g < (int)pool->inv->npgpus; g++) {
		struct load load;

		if (!pool->cards[g].in_pool || !pool_serves(pool, g, section->type))
			continue;
		load = load_of(pool, section, g, &leases);
		if (load.own)
			status = CHECK_WARN;
		else if (load.foreign)
			snprintf(fix, sizeof(fix), "'vgpu-lease retype --dry-run %s %s' shows what has to go",
				 pool->inv->pgpus[g].address, section->type);
	}
	if (*start->fix)
		snprintf(fix, sizeof(fix), "%s", start->fix);
	else if (status == CHECK_WARN)
		snprintf(fix, sizeof(fix), "end a guest that has one; 'vgpu-lease inventory' shows what is in use");
	check_note(check, status, "type", type_place(where, section), fix, "a start with %s would be refused: %s",
		   section->type, start->text);
	lease_list_free(&leases);
	store_close(&store);
}

static void report(struct check *check, const struct pool *pool, const struct section *section,
		   const struct start *start)
{
	char where[CHECK_WHERE];

	if (start->kind == PLAN_STEPS)
		check_pass(check, "type", type_place(where, section), "a start with %s would get one on %s",
			   section->type, start->on);
	else if (start->kind == PLAN_REMOVE)
		check_pass(check, "type", type_place(where, section),
			   "a start with %s would get one on %s, once %zu that nobody uses %s removed", section->type,
			   start->on, start->removes, start->removes == 1 ? "is" : "are");
	else if (start->kind == PLAN_WAIT)
		check_note(check, CHECK_WARN, "type", type_place(where, section), "try again in a moment",
			   "a start with %s would wait for a creation or removal that is under way: %s", section->type,
			   start->text);
	else
		refused(check, pool, section, start);
}

/* How cards serve the type, whether they are ready or not. */
static int kinds_of(const struct pool *pool, const struct section *section)
{
	int kinds = 0;

	for (int g = 0; g < (int)pool->inv->npgpus; g++)
		if (pool_serves(pool, g, section->type))
			kinds |= pool->inv->pgpus[g].framework == FW_MDEV ? AS_MDEV : AS_VF;
	return kinds;
}

/*
 * No card is given to it. One file can serve a fleet: a match that fits the cards of other hosts is no mistake, as long
 * as something can be leased here. Another before it gets all cards that no section names: Nova's rule.
 */
static bool has_no_card(struct check *check, const struct pool *pool, const struct section *section,
			const struct section *first)
{
	enum check_status status = check->npool ? CHECK_WARN : CHECK_FAIL;
	char where[CHECK_WHERE];

	if (kinds_of(pool, section) || section->naddresses)
		return false;
	if (section->nmatches)
		check_note(check, status, "type", check_place(where, &section->matches[0].at),
			   "correct device_match; 'vgpu-lease inventory' lists the pGPUs",
			   "no pGPU of this host fits the device_match of %s: a start with it would be refused",
			   section->type);
	else if (first && first != section)
		check_note(check, CHECK_WARN, "type", type_place(where, section),
			   "name its pGPUs in device_addresses or device_match",
			   "no pGPU is given to %s: %s, which is enabled before it, gets all that no section names",
			   section->type, first->type);
	else
		check_note(check, CHECK_FAIL, "type", type_place(where, section),
			   "'vgpu-lease types' shows what this host can make",
			   "no pGPU of this host serves %s: a start with it would be refused", section->type);
	return true;
}

static void look_at_start(struct check *check, const struct pool *pool, const struct section *section, bool vf)
{
	struct start start = { 0 };
	char where[CHECK_WHERE], xml[XML_SIZE];
	struct err err;
	int r;

	if (vf) {
		r = start_vf(check, pool, section->type, &start, &err);
	} else {
		make_xml(xml, section->type, NULL, false);
		r = plan_start(check, pool->config, xml, &start, &err);
	}
	if (r < 0)
		check_note(check, CHECK_FAIL, "type", type_place(where, section), "fix the cause",
			   "a start with %s would be refused: %s", section->type, err.text);
	else
		report(check, pool, section, &start);
}

void check_starts(struct check *check, const struct pool *pool)
{
	const struct config *config = pool->config;
	const struct section *first = NULL;
	size_t enabled = 0;
	int kinds;

	for (size_t i = 0; i < config->nsections; i++) {
		const struct section *section = &config->sections[i];

		if (!section->enabled)
			continue;
		enabled++;
		if (!first && !section->vf && !section->naddresses && !section->nmatches &&
		    !config->policy.several_types)
			first = section;
		if (has_no_card(check, pool, section, first))
			continue;
		/* One type can be made as mdevs by one card, and as VFs by another: a domain asks for either. */
		kinds = kinds_of(pool, section);
		if (kinds & AS_MDEV || (!kinds && !section->vf))
			look_at_start(check, pool, section, false);
		if (kinds & AS_VF || (!kinds && section->vf))
			look_at_start(check, pool, section, true);
	}
	if (!enabled)
		check_note(check, CHECK_FAIL, "type", config->nfiles ? config->files[0] : NULL,
			   "set enabled_mdev_types in [devices]; 'vgpu-lease types' shows what this host can make",
			   "no type is enabled: no vGPU can be leased");
}
