/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Facts for a plan, from a row of a table: a host, what is leased, what the domain asks for, in a small language:
 *
 *   cards    "84 s=16/16 l=4/4; 40/1+8 s=1/8"  pGPU/NUMA node, "+8": eight VFs; types with what the kernel
 *            offers now / max_instance
 *            (s: 1024 MiB, l: 4096 MiB; a name starting with m has no framebuffer and no
 *            max_instance; "s_" is s of another model; those starting with q and w are MIG-backed, of one slice with 5 GiB and two with 10; "v" before the card: no NVIDIA
 *            card; "x": its VFs take a type; "f": its VFs are plain ones, bound to vfio-pci, or with "g" to i915)
 *   there    "u1:84:s o1:85:l!"    device:parent:type, "!" open, "'" young, "=vm" named by that domain's XML on disk; a VF has no
 *            parent; without type a plain VF, or one without a type, "@" its driver
 *            "u1:84:s+active:D"    with its lease, state:domain (else E), "*" behind: somebody is at work on it;
 *            "u1:84:s:active:D"    a lease alone
 *   requests "u1 u2~s"             "~s": the metadata asks for type s, "~C=s|l": for class C, which is s and l; "?": any
 *            vGPU will do; "@84": it was on 84 before; "^s", "%s": s is remembered, or from an mdevctl definition; "x40.1": a hostdev of type pci with that address; "+" behind: a
 *            managed one; "&s" behind: of type s, as the domain's arrival has reserved
 *   config   "s@84,85 l"           enabled types with the addresses of their sections; "s<3": max_instances; behind ";"
 *            "spread several keep near=1 quota=2 goes=o1"; "taken=": what the domain's XML names beside its requests; "source=", "name=" and "model=": what the source says of the first
 *            request; type s is called Type-s here; "nova": the domain is a Nova instance; "defined": the first request has an
 *            mdevctl definition; "failed=84", "failed=40.1", "stuck=84": a card, one VF of it, or a removal there failed in this run;
 *            "lost=40.0,40.1": VFs that the driver has lost; "keeps=o1": the release of o1 keeps the device; "silent=84": a card whose driver does not answer
 *
 * The domain is D; VF number n of card 40 is called 40.n.
 */
#pragma once

#include "decide/plan.h"

#include <stdlib.h>

#include "look/resolve.h"

/* A row without a config has "s", one without requests "u1". What must come of it, `result`, is the table's. */
struct row {
	const char *says, *cards, *there, *result, *config, *requests;
};

struct setup {
	struct inventory inv;
	struct config config;
	struct leases leases;
	struct request request;
	struct failure failures[4];
	struct resolved_request resolved_requests[8];
	struct vgpu_request vgpus[8];
	struct failed_attempt failed_attempts[4];
	struct missing_card missing_cards[4];
	struct world facts;
	struct inv_pgpu cards[9], *pgpus[9];
	struct inv_parent parents[160], *vfs[160];
	struct inv_device devs[256];
	struct inv_type types[24], *known[24];
	struct inv_offer offers[9][7];
	struct section sections[24];
	struct item addresses[24][4];
	char address_texts[24][4][PARENT_SIZE];
	struct lease held[40];
	char taken[4][ID_SIZE];
};

#define each(item, list, seps)                                                                                         \
	for (char copy_##item[1024], *rest_##item = strcpy(copy_##item, (list) ? (list) : ""), *item;                  \
	     (item = text_next(&rest_##item, seps));)

static const struct inv_type *type_of(struct setup *w, const struct inv_pgpu *card, const char *id, int max)
{
	struct inv_type *t = &w->types[w->inv.ntypes];

	if (inventory_type(&w->inv, card, id))
		return inventory_type(&w->inv, card, id);
	w->known[w->inv.ntypes++] = t;
	t->framework = card->framework;
	snprintf(t->id, sizeof(t->id), "%s", id);
	snprintf(t->name, sizeof(t->name), "Type-%.*s", (int)strcspn(id, "_"), id);
	t->framebuffer_mib = *id == 's' ? 1024 : *id == 'l' ? 4096 : *id == 'q' ? 5120 : *id == 'w' ? 10240 : UNKNOWN;
	t->slices = *id == 'q' ? 1 : *id == 'w' ? 2 : 0;
	t->max_instance = *id == 'm' ? UNKNOWN : max;
	return t;
}

static void make_card(struct setup *w, char *spec)
{
	struct inv_pgpu *card = &w->cards[w->inv.npgpus];
	char *name = text_next(&spec, " "), *node, *vfs, *offer;

	card->nvidia = !strchr("vfg", *name);
	card->framework = *name == 'x' ? FW_VARIANT : strchr("fg", *name) ? FW_VF : FW_MDEV;
	vfs = name;
	node = strsep(&vfs, "+");
	name = strsep(&node, "/");
	snprintf(card->address, sizeof(card->address), "%s", name);
	card->numa = node ? atoi(node) : 0;
	card->ready = true;
	card->sriov = vfs != NULL;
	card->nvfs = vfs ? atoi(vfs) : 0;
	card->parents = &w->vfs[w->inv.nparents];
	card->nparents = vfs ? card->nvfs : 1;
	for (int i = 0; i < card->nparents; i++) {
		struct inv_parent *p = w->vfs[w->inv.nparents] = &w->parents[w->inv.nparents];

		w->inv.nparents++;
		p->card = card;
		strcpy(p->driver, *name == 'g' ? "i915" : "vfio-pci");
		p->keeps_group = *name == 'g';
		snprintf(p->group, sizeof(p->group), "%zu", w->inv.nparents);
		snprintf(p->name, sizeof(p->name), vfs ? "%s.%d" : "%s", name, i);
	}
	card->offers = w->offers[w->inv.npgpus];
	while ((offer = text_next(&spec, " "))) {
		char *available = offer, *max;

		offer = strsep(&available, "=");
		max = available;
		available = strsep(&max, "/");
		card->offers[card->noffers++] = (struct inv_offer){
			.type = type_of(w, card, offer, max ? atoi(max) : UNKNOWN), .available = atoi(available)
		};
	}
	w->pgpus[w->inv.npgpus++] = card;
}

static void make_device(struct setup *w, const struct vgpu_ref *vgpu)
{
	struct inv_device *d = &w->devs[w->inv.ndevices++];

	d->vgpu = *vgpu;
	d->parent = inventory_parent(&w->inv, d->vgpu.parent);
	if (d->parent)
		d->parent->ndevices++;
}

static void make_lease(struct setup *w, const struct vgpu_ref *vgpu, const char *spec)
{
	static const char *const states[] = { "reserved", "creating", "active", "releasing" };
	struct lease *l = &w->held[w->leases.n++];
	char state[16] = "";

	l->vgpu = *vgpu;
	l->at_work = strchr(spec, '*') != NULL;
	l->hangs = strstr(spec, "**") != NULL;
	strcpy(l->domain, "E");
	sscanf(spec, "%15[^:*]:%36[^*]", state, l->domain);
	for (int i = 0; i < 4; i++)
		if (strcmp(states[i], state) == 0)
			l->state = (enum lease_state)i;
	text_add(l->name, sizeof(l->name), "vm-%s", l->domain);
	text_copy(l->project, sizeof(l->project), w->request.project);
	l->framebuffer_mib = type_of(w, &(struct inv_pgpu){ .framework = l->vgpu.framework }, l->vgpu.type, UNKNOWN)
				     ->framebuffer_mib;
}

/* What is known of a device; a VF without a type is none: what is known of it is that of the parent. */
static void make_facts(struct setup *w, const char *spec)
{
	struct device_facts *f = &w->devs[w->inv.ndevices].facts;
	struct inv_parent *p = w->parents;

	if (!strchr(spec, ':')) {
		while (strncmp(p->name, spec, strcspn(spec, "!=@%")) != 0)
			p++;
		f = &p->facts;
	}
	if (strchr(spec, '@')) {
		text_copy(p->driver, sizeof(p->driver), strchr(spec, '@') + 1);
		p->keeps_group = strchr(spec, '@')[1] && !strstr(spec, "vfio");
	}
	f->opened = strchr(spec, '!') ? OPEN_YES : OPEN_NO;
	f->by = "a process";
	f->is_named = strchr(spec, '=');
	f->young = strchr(spec, '\'');
	f->renders = strchr(spec, '%');
}

static void make_there(struct setup *w, char *spec)
{
	struct vgpu_ref vgpu = { 0 };
	const char *type = strchr(spec, ':'), *lease = type, *parent = spec;

	if (type && !memchr(spec, '.', (size_t)(type - spec))) {
		parent = type + 1;
		type = strchr(parent, ':');
	}
	if (type) {
		lease = type + 1 + strcspn(type + 1, "+:");
		snprintf(vgpu.id, sizeof(vgpu.id), "%.*s", (int)strcspn(spec, ":"), spec);
		snprintf(vgpu.parent, sizeof(vgpu.parent), "%.*s", (int)(type - parent), parent);
		snprintf(vgpu.pgpu, sizeof(vgpu.pgpu), "%.*s", (int)strcspn(parent, ".:"), parent);
		snprintf(vgpu.type, sizeof(vgpu.type), "%.*s", (int)strcspn(type + 1, "!'=+:"), type + 1);
		vgpu.framework = strchr("fg", *parent) ? FW_VF : *parent == 'x' ? FW_VARIANT : FW_MDEV;
	}
	if (!type || *lease != ':')
		make_facts(w, spec);
	if (type && *lease != ':')
		make_device(w, &vgpu);
	if (type && *lease)
		make_lease(w, &vgpu, lease + 1);
}

static void make_section(struct setup *w, char *spec)
{
	struct section *s = &w->sections[w->config.nsections];
	char *cap = strchr(spec, '<'), (*texts)[PARENT_SIZE] = w->address_texts[w->config.nsections];

	s->max_instances = NO_LIMIT;
	if (cap) {
		*cap = '\0';
		s->max_instances = atoi(cap + 1);
	}
	s->addresses = w->addresses[w->config.nsections++];
	each(part, spec, "@,")
	{
		if (!*s->type) {
			snprintf(s->type, sizeof(s->type), "%s", part);
		} else {
			parent_given(texts[s->naddresses], part);
			s->addresses[s->naddresses].text = texts[s->naddresses];
			s->naddresses++;
		}
	}
	s->vf = strncmp(s->type, "flex", 4) == 0;
}

static void make_request(struct setup *w, char *spec)
{
	struct vgpu_request *req = &w->vgpus[w->request.nvgpus];
	struct resolved_request *resolved = &w->resolved_requests[w->request.nvgpus];
	char *name = strsep(&spec, "&"), *reserved = spec, *type, *last;
	struct lease reservation = { 0 };

	spec = name;
	type = strpbrk(spec, "~^%");
	last = strchr(spec, '@');
	resolved->req = req;
	snprintf(resolved->fresh, sizeof(resolved->fresh), "n%zu", ++w->request.nvgpus);
	if (last) {
		*last = '\0';
		snprintf(resolved->last_parent, sizeof(resolved->last_parent), "%s", last + 1);
	}
	if (type) {
		char *types = strchr(type, '=');

		resolved->source = *type == '~' ? TYPE_ASKED : *type == '^' ? TYPE_REMEMBERED : TYPE_DEFINED;
		*type = '\0';
		if (resolved->source == TYPE_ASKED)
			snprintf(req->facts.type, sizeof(req->facts.type), "%.*s", (int)strcspn(type + 1, "="),
				 type + 1);
		each(one, (types ? types : type) + 1, "|")
			snprintf(resolved->types[resolved->ntypes++], TYPE_SIZE, "%s", one);
	}
	if (reserved) {
		text_copy(reservation.vgpu.type, TYPE_SIZE, reserved);
		resolve_reserved(resolved, &reservation);
	}
	req->any = strchr(spec, '?') != NULL;
	req->managed = strchr(spec, '+') != NULL;
	spec[strcspn(spec, "+?")] = '\0';
	req->kind = strchr(spec, '.') ? REQUEST_PCI : REQUEST_MDEV;
	snprintf(req->id, sizeof(req->id), "%s", spec);
}

static const struct section *section_naming(const struct setup *w, const char *address)
{
	for (size_t i = 0; i < w->config.nsections; i++)
		for (size_t a = 0; a < w->sections[i].naddresses; a++)
			if (strcmp(w->sections[i].addresses[a].text, address) == 0)
				return &w->sections[i];
	abort();
}

static void make_policy(struct setup *w, const char *word)
{
	struct policy *p = &w->config.policy;
	const struct {
		const char *word;
		bool *flag;
	} flags[] = {
		{ "several", &p->several_types }, { "keep", &p->migrate_keep },
		{ "nova", &w->request.nova },     { "defined", &w->resolved_requests[0].defined },
		{ "warn", &p->mismatch_warns },
	};

	for (ROWS(row, flags))
		if (strcmp(word, row->word) == 0) {
			*row->flag = true;
			return;
		}
	if (strcmp(word, "spread") == 0)
		p->placement = PLACE_SPREAD;
	else if (strcmp(word, "noreuse") == 0)
		p->reuse_free = false;
	else if (strcmp(word, "migrate") == 0)
		w->facts.mode = PLAN_MIGRATE;
	else if (strcmp(word, "restore") == 0)
		w->facts.mode = PLAN_RESTORE;
	else if (strcmp(word, "assign") == 0)
		w->facts.mode = PLAN_ASSIGN;
	else if (strcmp(word, "noconfig") == 0)
		w->config.nsections = 0, err_set(&w->config.why, EINVAL, "no configuration");
	else if (strncmp(word, "driver=", 7) == 0)
		text_copy(w->inv.nvidia_driver, sizeof(w->inv.nvidia_driver), word + 7);
	else if (strncmp(word, "source=", 7) == 0)
		text_copy(w->vgpus[0].facts.driver, sizeof(w->vgpus[0].facts.driver), word + 7);
	else if (strncmp(word, "name=", 5) == 0)
		text_copy(w->vgpus[0].facts.name, sizeof(w->vgpus[0].facts.name), word + 5);
	else if (strncmp(word, "model=", 6) == 0)
		text_copy(w->vgpus[0].facts.model, sizeof(w->vgpus[0].facts.model), word + 6);
	else if (strncmp(word, "near=", 5) == 0)
		w->resolved_requests[0].nodes = UINT64_C(1) << atoi(word + 5);
	else if (strncmp(word, "quota=", 6) == 0)
		w->config.quota_default = w->config.quota_none = atoi(word + 6);
	else if (strncmp(word, "notready=", 9) == 0) {
		struct inv_pgpu *card = inventory_pgpu(&w->inv, word + 9);

		card->ready = false;
		snprintf(card->reason, sizeof(card->reason), "its VFs are not enabled");
	} else if (strncmp(word, "flaky=", 6) == 0) {
		struct failure *f = &w->failures[w->facts.nfailures++];

		text_copy(f->pgpu, sizeof(f->pgpu), word + 6);
		strcpy(f->type, "s");
	} else if (strncmp(word, "taken=", 6) == 0) {
		w->request.excluded = w->taken;
		each(id, word + 6, ",") snprintf(w->taken[w->request.nexcluded++], ID_SIZE, "%s", id);
	} else if (strncmp(word, "libvirt=", 8) == 0) {
		w->facts.libvirt = atoi(word + 8);
	} else if (strncmp(word, "failed=", 7) == 0 || strncmp(word, "stuck=", 6) == 0) {
		struct failed_attempt *m = &w->failed_attempts[w->facts.nfailed_attempts++];
		const char *where = strchr(word, '=') + 1;

		snprintf(m->removal, sizeof(m->removal), "%s", *word == 's' ? "what is stuck" : "");
		snprintf(m->pgpu, sizeof(m->pgpu), "%.*s", (int)strcspn(where, "."), where);
		snprintf(m->parent, sizeof(m->parent), "%s", strchr(where, '.') ? where : "");
		snprintf(m->type, sizeof(m->type), "s");
		m->cause = CAUSE_FAILED;
		snprintf(m->reason, sizeof(m->reason), "Input/output error");
	} else if (strncmp(word, "lost=", 5) == 0) {
		each(vf, word + 5, ",") inventory_parent(&w->inv, vf)->lost = true;
	} else if (strncmp(word, "silent=", 7) == 0) {
		struct inv_pgpu *card = inventory_pgpu(&w->inv, word + 7);

		card->silent = true;
		card->ready = false;
	} else if (strncmp(word, "missing=", 8) == 0) {
		each(address, word + 8, ",")
		{
			struct missing_card *l = &w->missing_cards[w->facts.nmissing_cards++];

			snprintf(l->card.address, sizeof(l->card.address), "%s", address);
			l->section = section_naming(w, address);
			snprintf(l->card.reason, sizeof(l->card.reason), "there is no such card");
		}
	} else if (strncmp(word, "keeps=", 6) == 0) {
		lease_find(&w->leases, word + 6)->keeps = true;
	} else if (strncmp(word, "goes=", 5) == 0) {
		each(id, word + 5, ",")
		{
			for (size_t i = 0; i < w->inv.ndevices; i++)
				w->devs[i].facts.reclaimable |= strcmp(w->devs[i].vgpu.id, id) == 0;
			for (size_t i = 0; i < w->leases.n; i++)
				w->held[i].reclaimable |= strcmp(w->held[i].vgpu.id, id) == 0;
		}
	} else {
		abort(); /* an unknown word */
	}
}

static void make_world(struct setup *w, const struct row *row)
{
	char config[512] = "", *policy = config, *sections;

	*w = (struct setup){ 0 };
	w->inv.pgpus = w->pgpus;
	w->inv.parents = w->vfs;
	w->inv.devices = w->devs;
	w->inv.types = w->known;
	w->leases.list = w->held;
	w->config.sections = w->sections;
	w->config.policy.reuse_free = true;
	w->config.quota_default = w->config.quota_none = NO_LIMIT;
	w->request.vgpus = w->vgpus;
	strcpy(w->request.uuid, "D");
	strcpy(w->request.name, "vm1");
	each(card, row->cards, ";") make_card(w, card);
	text_add(config, sizeof(config), "%s", row->config ? row->config : "s");
	sections = strsep(&policy, ";");
	each(section, sections, " ") make_section(w, section);
	each(word, row->there, " ") make_there(w, word);
	each(req, row->requests ? row->requests : "u1", " ") make_request(w, req);
	w->facts = (struct world){ .config = &w->config,
				   .leases = w->leases,
				   .failures = w->failures,
				   .request = &w->request,
				   .resolved_requests = w->resolved_requests,
				   .failed_attempts = w->failed_attempts,
				   .missing_cards = w->missing_cards };
	each(word, policy, " ") make_policy(w, word);
	pool_make(&w->inv, &w->config);
	w->facts.inv = w->inv;
}
