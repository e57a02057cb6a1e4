/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What is written to libvirt: facts of this host into live metadata, UUIDs into definitions with placeholders. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "internal.h"
#include "base/log.h"
#include "live/migration_facts_live.h"
#include "ops/rewrite.h"
#include "state/store.h"

/* --- facts --- */

static void write_facts(struct guests *g, size_t i, const struct host_facts *facts)
{
	const struct virt_domain *domain = &g->domains[i];
	struct err err;
	int r = migration_facts_write(g->virt, facts, g->guests[i].doc, domain->uuid, VIRT_LIVE, &err);

	if (r == 1)
		log_info("domain %s: migration facts of its vGPUs written to its metadata", domain->name);
	/* One that is busy, or gone meanwhile, is met again in a later pass. */
	if (r < 0 && r != -ENOENT && r != -EBUSY && r != -EPERM)
		log_warn("cannot write migration facts: %s", err.text);
}

static bool has_facts(const struct guests *g, size_t i)
{
	return g->live[i].settled && g->guests[i].doc;
}

static void write_all_facts(struct guests *g, struct store *store)
{
	struct host_facts facts;
	struct err err;
	size_t first = 0;

	while (first < g->n && !has_facts(g, first))
		first++;
	if (first == g->n)
		return;
	if (host_facts_read(&facts, store, &err) < 0)
		log_warn("cannot read migration facts: %s", err.text);
	else
		for (size_t i = first; i < g->n && virt_alive(g->virt); i++)
			if (has_facts(g, i))
				write_facts(g, i, &facts);
	host_facts_free(&facts);
}

/* --- definitions --- */

/* Does the definition have a placeholder? A look at the text, before anything is parsed. */
static bool may_have_placeholder(const char *xml)
{
	return xml && strstr(xml, "00000000-0000-0000-0000-0000000000");
}

/*
 * libvirt defines without asking what was there: right before that, is the definition still what was read? One that is
 * gone is -ENOENT, one that was edited -ESTALE. What happens in the moment between the two is lost all the same.
 */
static int still_defined(struct guests *g, const char *uuid, const char *xml, struct err *err)
{
	autofree char *now = NULL;
	int r = virt_xml(g->virt, uuid, VIRT_CONFIG, &now, err);

	if (r == 0 && strcmp(now, xml) != 0)
		return err_set(err, ESTALE, "definition changed meanwhile");
	return r;
}

/* Reads the definition as it is, secrets included, and gives each placeholder in it a UUID. */
static int define_anew(struct guests *g, const char *uuid, const struct host *host, const struct config *config,
		       struct err *err)
{
	autofree char *xml = NULL;
	struct rewrite rewrite = { 0 };
	const struct request *request;
	int r = virt_xml(g->virt, uuid, VIRT_CONFIG, &xml, err);

	if (r < 0 || !may_have_placeholder(xml))
		return r;
	rewrite.xml = xml;
	rewrite.len = strlen(xml);
	r = rewrite_begin(&rewrite, err);
	if (r == 0 && rewrite.nchanges) {
		r = rewrite_make(&rewrite, host, config, err);
		if (r == 0)
			r = still_defined(g, uuid, xml, err);
		if (r == 0)
			r = virt_define(g->virt, rewrite.rewritten, err);
		request = domxml_request(rewrite.doc);
		for (size_t i = 0; r == 0 && i < rewrite.nchanges; i++)
			log_info("domain %s: placeholder %s in its definition replaced by %s", request->name,
				 request->vgpus[rewrite.changes[i].req].id, rewrite.changes[i].id);
	}
	rewrite_end(&rewrite);
	return r;
}

static void define_one(struct guests *g, const char *uuid, const struct host *host, const struct config *config)
{
	struct err err;
	int r = define_anew(g, uuid, host, config, &err);

	if (r == -ESTALE) {
		g->any_defined = true;
		g->news(g->arg);
	} else if (r < 0 && r != -ENOENT) {
		log_warn("domain %s: cannot replace the placeholders in its definition: %s", uuid, err.text);
	}
}

/* The live XML of a domain that runs says nothing about its definition: that one is always asked for. */
static void define_any(struct guests *g, const struct host *host, const struct config *config)
{
	struct virt_domain *all;
	struct err err;
	size_t n;

	if (virt_list(g->virt, false, &all, &n, &err) < 0) {
		log_warn("cannot read the definitions of the domains: %s", err.text);
		return;
	}
	g->any_defined = false;
	for (size_t i = 0; i < n && virt_alive(g->virt); i++)
		if (all[i].persistent && (all[i].running || may_have_placeholder(all[i].xml)))
			define_one(g, all[i].uuid, host, config);
	virt_list_free(all, n);
}

static void define_placeholders(struct guests *g, const struct host *host, const struct config *config)
{
	if (g->any_defined)
		define_any(g, host, config);
	else
		for (size_t i = 0; i < g->ndefined && virt_alive(g->virt); i++)
			define_one(g, g->defined[i], host, config);
	g->ndefined = 0;
}

void guests_write(struct guests *g, const struct host *host, const struct config *config)
{
	struct store store;
	struct err err;

	if (!g->virt || !virt_alive(g->virt))
		return;
	if (store_open(&store, host, false, &err) < 0) {
		log_warn("%s", err.text);
		return;
	}
	write_all_facts(g, &store);
	define_placeholders(g, host, config);
	store_close(&store);
}
